"""Codes of what the oracle finds while it runs a program."""

CODES: dict[str, tuple[str, str]] = {
    "E0501": (
        "argument does not fit the function",
        "The oracle takes one array for each buffer parameter, of its dtype and shape, and one "
        "number for each scalar parameter, by name. Parameters that are results may be left out.",
    ),
    "E0502": (
        "access outside a buffer",
        "An index left its buffer where nothing allows it: shared, fragment and local memory "
        "never do, global memory only where the statement clips (or, for a read at stage `tile`, "
        "by the rule that it gives the safe value). Guard the access, or mark the statement "
        "`clip`.",
    ),
    "E0503": (
        "read of memory that was never written",
        "Allocated memory has no defined contents. Write the element, or fill the buffer, before "
        "reading it. In a pipeline this also means a missing wait. What nothing in the kernel "
        "writes is refused when it is traced.",
    ),
    "E0504": (
        "no meaning for an op",
        "The oracle has no rule for this op or function, so it cannot say what the program "
        "computes. Plugins give their ops a rule with `tile_ir.interp.rule`.",
    ),
    "E0505": (
        "undefined arithmetic",
        "An integer was divided by zero, or shifted by less than 0 or at least its width; targets"
        " differ there. Guard the operation with `select` or `if`.",
    ),
    "E0506": (
        "assertion failed",
        "The condition of an `assert` does not hold for these arguments.",
    ),
    "E0507": (
        "deadlock",
        "Every role waits for another one. The notes say where each stands: look for a missing "
        "commit or release, for ends that run a different number of times, or for a ring with too"
        " few slots.",
    ),
    "E0508": (
        "channel or group used out of turn",
        "A slot is committed only after it was acquired and released only after it was waited "
        "for, and operations of an engine are settled by the role that issued them.",
    ),
    "E0509": (
        "dimension not determined",
        "A symbolic dimension is bound from the shapes and strides of the arguments, by equations"
        " in one unknown. None of them determines this one; pass it as a scalar.",
    ),
    "E0510": (
        "regions of different size",
        "The regions of one statement have the same extents once unit axes are left out.",
    ),
    "E0511": (
        "race between threads",
        "Two threads of a block touch one element of shared memory, one of them writing, without a"
        " barrier in between. Put `sync block` between the two accesses.",
    ),
    "E0512": (
        "threads do not come together",
        "A barrier or an exchange between lanes needs all threads that it names; a branch around"
        " it let only some of them through. Move it out of the branch.",
    ),
    "E0513": (
        "unknown matrix instruction",
        "Registers of a matrix instruction mean what its description says. Pass `target` to `run`,"
        " with a description that has the instruction.",
    ),
    "E0518": (
        "source text that only a target runs",
        "The program calls a function that is given as source text of one target's language, and"
        " says nothing that stands for it. Pass `reference=` to T.call_extern.",
    ),
    "E0515": (
        "one arrival too many",
        "A barrier that counts ends its phase with the announced number of arrivals; a further one"
        " came before the last bytes. Arrivals and the number in the declaration have to agree.",
    ),
    "E0519": (
        "bits of floats have no value in float64",
        "A program that reads the bits of a float as another type means something else where its"
        " floats are float64, so results cannot be compared with those.",
    ),
}
