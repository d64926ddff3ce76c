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
        "Two threads use the same shared memory, one of them writes, and no barrier orders them. "
        "The error names both accesses. Put a barrier between them, also between the last read "
        "of a loop's turn and the first write of the next one.",
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
}
