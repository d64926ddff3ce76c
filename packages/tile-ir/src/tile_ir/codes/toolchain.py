"""Codes of building and running kernels on the host: compiler, files, loading, launching."""

CODES = {
    "E0801": (
        "no C compiler",
        "Kernels for the host are built by gcc (12 or newer), clang, or the compiler in the Python "
        "package ziglang, whichever is found first; the variable CC names another one. The help "
        "line says how to install one.",
    ),
    "E0802": (
        "the C compiler refused the kernel",
        "The generated source did not compile. The first messages are placed on the lines of the "
        "kernel they come from. If the kernel holds no C source of its own, please report it.",
    ),
    "E0803": (
        "file cannot be written",
        "The folder of the output cannot be written, or the disk is full. Nothing was left behind. "
        "TILE_CACHE_DIR chooses another folder.",
    ),
    "E0804": (
        "library cannot be loaded",
        "A built library was made for another machine or is damaged. Delete it; it is built anew.",
    ),
    "E0805": (
        "assertion failed in a kernel",
        "A device_assert did not hold. The message has its values and its place; jobs that had not "
        "started were not run, so the outputs are incomplete.",
    ),
    "E0806": (
        "no memory for the scratch of a kernel",
        "Each thread needs memory for the kernel's tiles and the system gave none. Use smaller "
        "blocks, or fewer threads by TILE_NUM_THREADS.",
    ),
    "E0807": (
        "setting without a meaning",
        "An environment variable of ours has a value that it cannot have. The help line names the "
        "values it can have.",
    ),
}
