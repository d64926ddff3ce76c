"""Codes of what kernels of some accelerators cannot do."""

CODES = {
    "E3101": (
        "not available inside kernels of this target",
        "The kernel does something that kernels of this target cannot: it needs a service of the "
        "host, such as printing, or a type, an operation or a number of arguments that the "
        "hardware lacks. The help line says what to do in its place.",
    ),
}
