"""Codes of kernels that leave the process: exported libraries, builds in other processes, and
kernels that may not be built any more. Exported libraries return them as numbers."""

CODES: dict[str, tuple[str, str]] = {
    "E2401": (
        "a target does not make this form of export",
        "The message says why. The form `c` (sources, with machine code as arrays) is offered by "
        "every target that exports at all.",
    ),
    "E2402": (
        "kernels that are not one library",
        "The kernels of a library are variants of one function: the same parameters in the same "
        "order, tensors and scalars alike, the same outputs and one kind of device. Types and "
        "extents of tensors may differ. Export others under names of their own.",
    ),
    "E2403": (
        "no self-check of a kernel",
        "The inputs for the self-check of an exported library were refused by the program, or "
        "nothing computes the expected outputs. Pass inputs with `self_check=`, or "
        "`self_check=False` to leave it out.",
    ),
    "E2404": (
        "a frozen kernel would have to be built",
        "After `freeze()` only what was built before runs. Build the variant that the message "
        "names before freezing, by a call or by `compile`.",
    ),
    "E2405": (
        "a process that compiled a kernel has died",
        "The message names the kernel and how the process ended: by a signal (a compiler that "
        "crashed, the system out of memory) or an exit. The other kernels were built.",
    ),
    "E2406": (
        "rows are too close for an exported kernel",
        "The strides of an argument are no multiples of the bytes that the kernel's copy engine "
        "needs, and the library holds no variant that does without. Export it with `plain=True`.",
    ),
    "E2407": (
        "an exported library has nothing for this machine",
        "Every variant was built for another architecture. Export the kernel for this one as well, "
        "with `targets=`.",
    ),
    "E2408": (
        "an exported library fails its self-check",
        "An output differs from the stored one by more than the stored tolerance. The machine or "
        "its driver computes something else than the compiler expected: please report it.",
    ),
    "E2409": (
        "no name for an exported library",
        "A library, its functions and its Python package have one name: a word of lower-case "
        "letters, digits and `_` that begins with a letter, is no keyword of Python and does not "
        "begin with `tile_`; that of a wheel is no module of Python. A version is as in `1.2`.",
    ),
}
