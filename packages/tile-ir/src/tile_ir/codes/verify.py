"""Codes of the verifier: programs that are well-formed text, or well-made trees, but not valid."""

CODES: dict[str, tuple[str, str]] = {
    "E0401": (
        "name declared twice",
        "A name has one meaning where it is visible; a buffer's name is unique in its function."
        " Sibling bodies may each bind a scalar of the same name.",
    ),
    "E0402": (
        "name used where it is not declared",
        "Parameters and dimensions are visible in the whole function, what a statement binds is"
        " visible after it in its body, and a loop's variables in the loop.",
    ),
    "E0403": (
        "scalar of another type",
        "Every use of a scalar has the type of its declaration. Dimensions are integers.",
    ),
    "E0404": (
        "not a name",
        "Names are identifiers, other than and, or, not, true, false, inf and nan.",
    ),
    "E0405": (
        "wrong number of indices",
        "An access has one index or range for each axis of the buffer. Axes of extent 1 count.",
    ),
    "E0406": (
        "operands do not fit the operator",
        "Operators work on operands of one type and have the result type of the promotion "
        "table. `tile_ir.build` inserts the conversions.",
    ),
    "E0407": (
        "unknown operator or function",
        "Expressions use the operators of `tile_ir.expr` and the functions of `tile_ir.functions`.",
    ),
    "E0408": (
        "index is not an integer",
        "Indices, starts and extents are integers of one lane.",
    ),
    "E0409": (
        "literal not of its type",
        "A literal holds exactly a value of its scalar type: an int, a bool, or a float already"
        " rounded. `tile_ir.build.const` rounds and checks.",
    ),
    "E0410": (
        "region outside its buffer",
        "Regions of shared, fragment and local buffers lie inside. Only global buffers may be "
        "left, with `clip`.",
    ),
    "E0411": (
        "bad parameter or result",
        "A parameter is a global buffer or a scalar. Results name different buffer parameters.",
    ),
    "E0412": (
        "break or continue outside a loop",
        "They leave the nearest `for` or `while`, and cannot leave a parallel or tile loop.",
    ),
    "E0413": (
        "statement in the wrong construct",
        "A function holds kernels, global buffers, bindings, branches and asserts; operations "
        "on tiles stand in a kernel; kernels and roles do not nest.",
    ),
    "E0414": (
        "kernel without its one tile loop",
        "At stage `tile` a kernel's body is one `tiles` loop, beside bindings and asserts.",
    ),
    "E0415": (
        "bad buffer declaration",
        "Buffers have scalar elements and integer extents, constant outside global memory. "
        "Strides are for global buffers, layouts for the others.",
    ),
    "E0416": (
        "layout does not fit its buffer",
        "A fragment's layout places elements in registers of threads, another buffer's gives "
        "offsets. It covers the buffer's shape.",
    ),
    "E0417": (
        "element read as another type",
        "A read has the element type of the buffer, with as many lanes as its last index.",
    ),
    "E0420": (
        "product of shapes that do not fit",
        "A product takes [m, k] times [k, n] into [m, n]; transpose_a and transpose_b say that "
        "an operand is stored the other way round. Leading axes have extent 1.",
    ),
    "E0421": (
        "product of types that do not fit",
        "Both operands have one type, or are 8-bit floats, or integers of one width. Floats "
        "accumulate in a float, integers in an integer, at least as wide as the operands.",
    ),
    "E0422": (
        "copy between different shapes",
        "Both sides have the same extents in the same order, once axes of extent 1 are dropped.",
    ),
    "E0423": (
        "bad reduction",
        "The destination has the source's extents without the reduced axis, or with extent 1 "
        "there. and, or, xor work on integers.",
    ),
    "E0424": (
        "bad scan",
        "Source and destination of a scan have one shape, and `dim` is an axis.",
    ),
    "E0425": (
        "fill of another type",
        "The value has the element type of the buffer: cast it.",
    ),
    "E0426": (
        "store of another type",
        "The value has the element type of the buffer, with as many lanes as the last index.",
    ),
    "E0427": (
        "bad loop bounds",
        "Start, stop and step have the integer type of the loop variable; the step is a "
        "constant other than 0.",
    ),
    "E0428": (
        "bad atomic",
        "The buffer is global or shared, the value has its element type, both shapes are equal;"
        " and, or, xor work on integers.",
    ),
    "E0429": (
        "view of other storage",
        "A view has the scope and the total number of bits of its source, and neither has strides.",
    ),
    "E0430": (
        "statement inside a parallel loop",
        "One thread runs an iteration: it computes, stores, branches and loops. Operations on "
        "whole tiles need all threads.",
    ),
    "E0431": (
        "unknown choice",
        "The attribute takes one of a fixed set of words; the message lists it.",
    ),
    "E0432": (
        "transpose between different shapes",
        "The destination has the source's extents with the last two exchanged.",
    ),
    "E0433": (
        "binding of another type",
        "The value of a `let` has the type of its name: cast it.",
    ),
    "E0434": (
        "condition is not bool",
        "A condition is one truth value. Compare the number with 0.",
    ),
    "E0435": (
        "bad loop annotation",
        "`order` is a permutation, and `order` and `stage` have one entry for each statement of"
        " the body. Counts are not negative.",
    ),
    "E0436": (
        "bad counts of a kernel or role",
        "A kernel has one to three positive thread counts; counts of clusters, blocks, warps, "
        "groups and registers are not negative.",
    ),
    "E0437": (
        "loop variables and extents differ",
        "A tile loop or parallel loop has as many extents as variables, each pair of one "
        "integer type.",
    ),
    "E0438": (
        "operands of a warp that do not fit",
        "An exchange or reduction in warps works on one element for each thread of the block: "
        "operands have one shape and one type, lanes are i32, and bits are combined in integers.",
    ),
    "E0439": (
        "tiles of a cluster that do not fit",
        "Blocks of a cluster add up a fragment, once; what they send lies in shared memory, in an "
        "equal type, with room for each block but one.",
    ),
    "E0460": (
        "op not of this stage",
        "Channels, roles and asynchronous operations exist once the program is scheduled.",
    ),
    "E0462": (
        "slot used where it is not held",
        "A slot belongs to the producer from acquire to commit and to the consumer from wait to"
        " release. Outside, its contents are undefined.",
    ),
    "E0463": (
        "slot of the wrong channel",
        "An access to a buffer with slots names the channel that carries it, as in "
        "`A_s@ab[...]`. A buffer has as many slots as its channel is deep, and one channel.",
    ),
    "E0464": (
        "bad channel",
        "Each end belongs to one role or engine: the producer acquires and commits, the "
        "consumer waits and releases; an engine that consumes does so by itself.",
    ),
    "E0465": (
        "bad asynchronous operation",
        "`issue` starts exactly one operation on tiles; settling counts groups from 0.",
    ),
    "E0466": (
        "release before all threads have read",
        "Where few threads arrive for many, a barrier or a settle must stand between the last "
        "read of the slot and the release.",
    ),
    "E0467": (
        "bad hardware instruction",
        "The message says which rule of the instruction is broken: memory it moves between, sizes "
        "that it takes, barriers that are declared.",
    ),
    "E0468": (
        "halves of a cluster's barrier that do not follow one another",
        "Where the barrier of a cluster is taken apart, each arrival is followed by one wait, and "
        "each wait by an arrival, on every way through the kernel.",
    ),
    "E0469": (
        "a copy to another block that nothing tells of",
        "A copy into another block's memory is seen by that block after the next meeting of the "
        "cluster, or after an arrival at a barrier of its own. Neither follows the copy: put "
        "T.cluster_sync() between it and who reads.",
    ),
}
