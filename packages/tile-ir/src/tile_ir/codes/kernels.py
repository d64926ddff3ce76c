"""Codes of what kernels of some accelerators cannot do."""

CODES = {
    "E3101": (
        "not available inside kernels of this target",
        "The kernel does something that needs a service of the host which kernels of this target "
        "do not have, such as printing. The help line says what to do in its place.",
    ),
}
