"""Codes of the pass manager, pipelines and the legalize phase."""

CODES: dict[str, tuple[str, str]] = {
    "E0601": (
        "not a pipeline",
        "A pipeline's text is phases of passes: `legalize: bounds, simplify; lower: lower-tiles`."
        " The labels may be left out; options stand in braces: `name{key=value}`.",
    ),
    "E0602": (
        "no such pass",
        "The name is neither one of ours nor of an installed plugin. `tile-opt --list x` shows"
        " every name; a plugin that is installed but broken is shown by `tile doctor`.",
    ),
    "E0603": (
        "a pass outside its phase",
        "Phases run in the order legalize, plan, expand, lower, and a pass belongs to one of them."
        " Anchor the pass at one of its own phase.",
    ),
    "E0604": (
        "no place for a plugin's pass",
        "The manifest asks to run after one pass and before another, and in this pipeline the"
        " first comes later than the second. Relax `before` or `after` in the manifest.",
    ),
    "E0611": (
        "always outside of a buffer",
        "The access is outside whenever it is reached, so it would never do anything (or, in"
        " shared and register tiles, which are not guarded, corrupt memory). Check the index, or"
        " the shape that the buffer was declared with.",
    ),
    "E0612": (
        "vector access that may leave a tensor",
        "A vector access of a global tensor is taken apart where some of its elements may be "
        "outside,"
        " but a vector that was bound to a name is read as a whole. Guard the access with `if`, or"
        " read element by element.",
    ),
    "E0613": (
        "warps of another kind",
        "Threads of a warp exchange values, so the kernel is launched with whole warps, on a target"
        " whose warps can exchange. The width of a warp is 32 or 64 threads, 32 on a target without"
        " warps. Launch a multiple of it, or exchange through shared memory and T.sync_threads.",
    ),
    "E0614": (
        "more threads than a block has",
        "Blocks of a target have a largest number of threads, which `max_threads` of its "
        "description says. Launch fewer: loops are divided among those that there are.",
    ),
}
