"""Codes of the cache of compiled kernels. They are warnings: a kernel works without the cache."""

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
}
