"""Codes of the emulator, which runs a target's kernels on the host's processor."""

CODES = {
    "E2300": (
        "target cannot be emulated",
        "The target offers no emulation, or it was made for another version of the emulator. "
        "Install matching versions, or run on the device.",
    ),
    "E2301": (
        "instruction unknown to the emulator",
        "The generated code has an instruction that the emulator has no meaning for. Run on a "
        "device, compile for an older architecture, or report the instruction.",
    ),
    "E2302": (
        "generated code not understood",
        "The emulator cannot read the text that the device compiler gave. Please report it with "
        "the compiler's version.",
    ),
    "E2303": (
        "access out of bounds",
        "A thread reads or writes memory outside of every tensor, workspace and the block's own "
        "memory. The error names the access, the thread and the nearest tensor.",
    ),
    "E2304": (
        "misaligned access",
        "An access of 2 to 16 bytes, or a bulk copy, has to start at a multiple of its size. "
        "Check offsets of vectors, and strides of the arguments.",
    ),
    "E2305": (
        "uninitialized value",
        "A value that no thread ever wrote reaches memory, decides a branch or is used as an "
        "address. Usually a barrier or a wait is missing in front of the read, or a buffer is not "
        "cleared.",
    ),
    "E2306": (
        "race",
        "Two threads use the same memory, one of them writes, and nothing orders them. The error "
        "names both accesses. Put a barrier between threads of one block, also between the last "
        "read of a loop's turn and the first write of the next one. Between blocks of one launch "
        "use atomic operations, or a fence and a flag; or launch a second kernel.",
    ),
    "E2307": (
        "deadlock",
        "No thread of a block can go on. The notes tell where each warp waits. Usually a barrier "
        "gets fewer arrivals or bytes than it expects, or a phase is waited for twice.",
    ),
    "E2308": (
        "divergent collective",
        "Threads that have to execute the same operation together are at different places, or "
        "some have ended. Move the operation out of the branch.",
    ),
    "E2309": (
        "barrier misused",
        "A barrier gets more arrivals than it expects, is used before it is initialised, or with "
        "different numbers of threads at different places.",
    ),
    "E2310": (
        "kernel stopped itself",
        "A kernel executed a trap, as assertions on the device do.",
    ),
    "E2311": (
        "no fence for engines",
        "A matrix instruction or a bulk copy reads shared memory that threads wrote, and no fence "
        "for such engines follows the write: they may read what was there before. Put the fence "
        "behind the writes and in front of the barrier.",
    ),
    "E2313": (
        "too much shared memory",
        "A block asks for more shared memory than the device that is emulated has. Use smaller "
        "blocks or fewer stages.",
    ),
    "E2314": (
        "a tensor read early that the kernel in front writes",
        "A dependent kernel names in T.annotate_dependent_launch what it may read before the "
        "kernel in front of it has ended. That kernel, perhaps of another function, wrote to it. "
        "Name only what nobody writes in between, such as weights.",
    ),
    "E2312": (
        "nothing counted",
        'Only kernels that the emulator ran have counters. Compile with device="emulator", call '
        "the kernel, and ask then.",
    ),
}
