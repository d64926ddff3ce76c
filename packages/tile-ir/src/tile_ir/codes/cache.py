"""Codes of the cache of compiled kernels. The first are warnings: a kernel works without the
cache."""

CODES: dict[str, tuple[str, str]] = {
    "E2101": (
        "cache cannot be written",
        "The folder is read-only or the disk is full, so kernels are compiled anew in each "
        "process. "
        "Set TILE_CACHE_DIR to a folder that can be written, or TILE_DISABLE_CACHE=1 to be silent.",
    ),
    "E2102": (
        "cached kernel is damaged",
        "The files of an entry are not what was stored. It was removed and is built anew; if this "
        "recurs, look at the disk.",
    ),
    "E2103": (
        "no such cached kernel",
        "Name an entry by the first letters of its key, as `tile cache ls` shows it.",
    ),
    "E2104": (
        "no archive of cached kernels",
        "The file was not written by `tile cache export`, or it is damaged. Nothing of the damaged "
        "entry was taken over.",
    ),
}
