"""Codes of the language: what a kernel function may hold, and how its names and tiles are used."""

CODES: dict[str, tuple[str, str]] = {
    "E1001": (
        "source not available",
        "A kernel is read from its source text. Define it with `def` in a file or a notebook cell; "
        "text made by exec() and lambdas cannot be traced, nor can a file that changed after "
        "import.",
    ),
    "E1002": (
        "construct without meaning in a kernel",
        "The body of a kernel becomes code for a device, which has no exceptions, classes, "
        "generators or coroutines. Move the construct into a Python function that the kernel calls "
        "while it is traced, or express it with loops, branches and buffers.",
    ),
    "E1003": (
        "language function outside a kernel",
        "Functions such as T.copy add to the kernel that is being traced. Call them in a function "
        "under @T.prim_func or @tile.jit (or in a T.macro that such a function calls).",
    ),
    "E1004": (
        "traced value used as a bool",
        "The value exists only when the kernel runs, so Python cannot branch on it. In the kernel "
        "itself (and in T.macro) `if`, `and`, `or`, `not` and ternaries are traced; in plain "
        "Python "
        "functions use T.if_then_else, T.min and T.max.",
    ),
    "E1005": (
        "traced value used as a number of Python",
        "The value exists only when the kernel runs, so it cannot size a list, a range in a "
        "comprehension, be printed as a number, or go through a function of another library. Use a "
        "Python argument or a T.const dimension, T.serial for a loop, or the language's function.",
    ),
    "E1006": (
        "name of an ended scope",
        "A name bound in a branch or loop that is decided at run time does not exist after it. "
        "Make a T.alloc_var before, and assign to it inside.",
    ),
    "E1007": (
        "name carried around a loop",
        "The body of a loop is traced once, so a name that is read and then bound anew in it would "
        "keep its first value on every trip. Make it a T.alloc_var before the loop; assigning to "
        "that stores.",
    ),
    "E1008": (
        "return in a branch decided at run time",
        "A kernel function returns while it is traced. Assign to a T.alloc_var and return after "
        "the "
        "branch.",
    ),
    "E1009": (
        "break or continue that cannot be done",
        "Either the loop runs while tracing and the branch is decided at run time, or the loop's "
        "iterations have no order (T.Parallel) or overlap (T.Pipelined). Use T.serial or "
        "`while`, or "
        "guard the body with `if`.",
    ),
    "E1010": (
        "not a loop",
        "A `for` runs over T.serial, T.Parallel, T.Pipelined and their like, over range, or over "
        "Python collections; it cannot run over a buffer or a number. Neither can be unpacked.",
    ),
    "E1011": (
        "loop with else",
        "Whether a loop was left by `break` is known only when the kernel runs. Set a T.alloc_var "
        "flag before the `break` and test it after the loop.",
    ),
    "E1012": (
        "assertion failed while tracing",
        "The condition is known to Python and false. Call the kernel with arguments that satisfy "
        "it.",
    ),
    "E1013": (
        "loop of the language in code that is not traced",
        "Plain Python functions and comprehensions run as Python. Write the loop as a `for` "
        "statement of the kernel, or put @T.macro on the function.",
    ),
    "E1016": (
        "loop over Python values is too long",
        "Each trip of such a loop becomes code of its own. Use T.serial for a loop of the kernel.",
    ),
    "E1017": (
        "raise in a branch decided at run time",
        "An exception is raised while tracing or not at all. Use `assert` or T.device_assert.",
    ),
    "E1018": (
        "loop entered with `with`",
        "T.serial, T.Parallel and their like are loops: they stand in the header of a `for`.",
    ),
    "E1101": (
        "parameter never declared",
        "A @T.prim_func needs an annotation on each parameter; an eager function declares each "
        "tensor, in its signature or in a statement `A: T.Tensor(shape, dtype)`.",
    ),
    "E1102": (
        "annotation that declares nothing",
        "Parameters are T.Tensor, T.StridedTensor, or an element type for a scalar. In a body, "
        "only "
        "parameters of the eager function are declared by a bare annotation.",
    ),
    "E1103": (
        "outputs and returns disagree",
        "A kernel function returns exactly what T.empty made. Tensors of the caller are changed in "
        "place and not returned; workspaces come from T.alloc_global.",
    ),
    "E1104": (
        "T.const without a value",
        "T.const is read from the arguments of an eager function: use it as an extent of a tensor, "
        "or give it by name to .compile(). In a @T.prim_func use T.dynamic or a Python argument.",
    ),
    "E1105": (
        "strides do not match the shape",
        "T.StridedTensor takes one stride, in elements, for each axis.",
    ),
    "E1106": (
        "function without a kernel",
        "The device part of a function stands under `with T.Kernel(grid...) as ...:`.",
    ),
    "E1107": (
        "bad extent",
        "Extents of tensors are non-negative ints, T.const or T.dynamic dimensions, or expressions "
        "of them.",
    ),
    "E1108": (
        "bad out_idx",
        "out_idx names distinct tensor parameters of a lazy kernel by position. Functions that use "
        "T.empty return their outputs without it.",
    ),
    "E1109": (
        "bad dimension name",
        'Dimensions are named by identifiers, several separated by commas or spaces: "M, N".',
    ),
    "E1110": (
        "traced function called",
        "A @T.prim_func is a program, not a kernel. Compile it with tile.compile, or return it "
        "from "
        "a @tile.jit function.",
    ),
    "E1111": (
        "arguments do not fit the signature",
        "Arguments go by the function's own parameters; further keywords may only give T.const "
        "dimensions, as ints.",
    ),
    "E1112": (
        "Python argument cannot be hashed",
        "Python arguments are compiled into the kernel, one kernel for each value, so they must be "
        "comparable: numbers, text, tuples, lists and dicts of those, frozen dataclasses.",
    ),
    "E1113": (
        "tensor used before its declaration",
        "Declare tensors at the head of the function: `A: T.Tensor((M, N), T.float32)`.",
    ),
    "E1114": (
        "not a traced function",
        "tile.compile takes a function under @T.prim_func (or a @tile.jit function).",
    ),
    "E1115": (
        "lazy function returns something else",
        "A lazy @tile.jit function returns the @T.prim_func that it defines.",
    ),
    "E1117": (
        "not provided for programs of another compiler",
        "The program asks for a module or a name that has no counterpart here. The message names "
        "it; docs/from-tilelang.md lists what differs.",
    ),
    "E1118": (
        "the other compiler is already imported",
        "Import tile_frontend.compat.tilelang before the program imports tilelang.",
    ),
    "E1119": (
        "setting of another compiler's pass",
        "A warning: the key names a pass of another compiler, and the reason why it means nothing "
        "here is given. Pins of the Plan and compile_flags are how decisions are changed.",
    ),
    "E1116": (
        "no such kernel",
        "The command line names a kernel as FILE.py:NAME, a function of that file at top level.",
    ),
    "E1201": (
        "wrong number of indices",
        "Give one index or slice for each axis of the buffer.",
    ),
    "E1202": (
        "index is not an integer",
        "Convert it: T.cast(x, T.int32).",
    ),
    "E1203": (
        "slice with a step",
        "A region is a box of consecutive elements. Copy element by element in T.Parallel to skip.",
    ),
    "E1204": (
        "index outside an on-chip buffer",
        "Only reads and writes outside global tensors are defined (they give the safe value and "
        "are "
        "skipped). Stay inside shared, fragment and local buffers.",
    ),
    "E1205": (
        "extent known at run time only",
        "The operation needs a region of constant extents. Copy what you need into an on-chip "
        "tile.",
    ),
    "E1206": (
        "power operator",
        "Write a product for a small constant exponent, or T.pow.",
    ),
    "E1207": (
        "no scalar value",
        "Arithmetic works on numbers, traced values and elements of buffers.",
    ),
    "E1208": (
        "region assigned",
        "An assignment stores one element. Use T.copy for a tile, T.fill for a constant, or assign "
        "elements in T.Parallel.",
    ),
    "E1210": (
        "buffer where a scalar is needed",
        "Arithmetic is written element by element: index the buffer in T.Parallel, or use a tile "
        "operation.",
    ),
    "E1211": (
        "T.Select of two types",
        "Convert one side with T.cast, or use T.if_then_else, which promotes.",
    ),
    "E1212": (
        "infinity of an integer type",
        "The type has no infinity. Integers have T.max_value and T.min_value.",
    ),
    "E1213": (
        "false assumption",
        "T.assume states a fact; one that is never true makes the whole kernel meaningless.",
    ),
    "E1214": (
        "value read before memory changed",
        "A value that only Python holds (in a list, or returned by a function) is read where it is "
        "used. The buffer has been written in between, or will be before the next trip of the "
        "loop. "
        "Bind the value to a name of its own where it is read.",
    ),
    "E1301": (
        "T.Kernel inside something",
        "Kernels of a function are launched one after the other, from its top level.",
    ),
    "E1302": (
        "device work outside T.Kernel",
        "Tile operations, loops and element assignments stand under `with T.Kernel(...)`; outputs "
        "are declared before it.",
    ),
    "E1303": (
        "bad launch configuration",
        "A grid has one to three non-negative integer extents; threads are one to three positive "
        "ints.",
    ),
    "E1304": (
        "on-chip buffer outside T.Kernel",
        "On-chip buffers belong to a block of a kernel.",
    ),
    "E1305": (
        "bad on-chip buffer",
        "On-chip buffers have fixed, positive extents, known when the kernel is compiled, and the "
        "scope of the function that makes them.",
    ),
    "E1306": (
        "tile operation inside T.Parallel",
        "All threads of the block do a tile operation together. Move it out of the loop.",
    ),
    "E1307": (
        "local buffer indexed by a T.Parallel variable",
        "A local array belongs to each thread alone, and T.Parallel divides its iterations among "
        "threads. Use a fragment, or T.serial.",
    ),
    "E1401": (
        "tiles of different extents",
        "Apart from axes of extent 1 both sides have the same extents. A tile given by its start "
        "takes the extent of the other side, aligned from the last axis.",
    ),
    "E1402": (
        "matrix shapes do not fit",
        "T.gemm multiplies (M, K) by (K, N) into (M, N); transpose_A and transpose_B exchange the "
        "axes of their operand.",
    ),
    "E1403": (
        "matrix element types do not fit",
        "Both operands have one type (8-bit and narrower ones may mix); floats accumulate in "
        "floats, "
        "integers in integers.",
    ),
    "E1404": (
        "tile without an extent",
        "Write the region with slices: an element alone says only where a tile starts.",
    ),
    "E1405": (
        "not a buffer",
        "Tile operations take buffers, regions A[i:j, k], or tile starts A[i, k].",
    ),
    "E1406": (
        "reduction output has another shape",
        "The output has the input's shape without the reduced axis, or with extent 1 there.",
    ),
    "E1407": (
        "bad reduction",
        "The axis exists, the kind is one of the listed ones, and bitwise kinds work on integers.",
    ),
    "E1408": (
        "scope that the operation does not take",
        "Reductions and scans work on shared tiles and fragments, or on local arrays alone; "
        "products "
        "on shared tiles and fragments.",
    ),
    "E1410": (
        "transpose between other shapes",
        "A transpose exchanges the last two axes and keeps the others. The destination has the "
        "source's shape with its last two axes exchanged.",
    ),
    "E1411": (
        "bad atomic update",
        "Atomics update an element by a scalar, or a tile by a tile of the same extents; only "
        "elements give back previous values, and bitwise ones work on integers.",
    ),
    "E1412": (
        "scan between other shapes",
        "Source and destination of T.cumsum and T.cummax have the same shape.",
    ),
    "E1413": (
        "view of another size",
        "T.view and T.reshape keep the total number of bits, which must be constant.",
    ),
    "E1414": (
        "layout that does not fit",
        "T.Layout places a shared tile, T.Fragment a fragment; both have the buffer's shape.",
    ),
    "E1415": (
        "unknown memory order",
        "The orders are relaxed, consume, acquire, release, acq_rel and seq_cst.",
    ),
    "E1416": (
        "bad option of a loop",
        "Bounds are integers, steps non-zero ints, stages non-negative ints; a schedule has one "
        "entry for each statement.",
    ),
    "E1417": (
        "bad tile scheduler",
        "Sizes of panels and clusters are positive ints. A scheduler made with stateful=False only "
        "tells coordinates, and a subclass of T.BaseTileScheduler sets them in "
        "update_current_idx.",
    ),
    "E1418": (
        "bad use of a reducer",
        "A reducer is opened once by T.reducer_init, takes contributions by T.reducer_update in "
        "T.Parallel loops, and is closed once by T.finalize_reducer, which gives its value. "
        "Before that it has none.",
    ),
    "E1419": (
        "bad use of random numbers",
        "T.rng_init opens a stream in the kernel (its branch or loop included) where numbers are "
        "drawn. In T.Parallel each iteration draws a number of times that is known while tracing.",
    ),
    "E1420": (
        "images that do not fit",
        "T.im2col takes a channels-last image (N, H, W, C) and fills a two-dimensional tile; "
        "kernel, stride and dilation are positive ints and the padding is not negative.",
    ),
    "E1421": (
        "lanes that cannot be told",
        "Lanes are counted from 0 by ints known while tracing, in vectors of the same type.",
    ),
    "E1422": (
        "elements that are no whole word",
        "A word is made of neighbours along the last axis: 32, 64, 128 or 256 bits of elements of "
        "8 bits or more.",
    ),
    "E1501": (
        "no work of single threads",
        "Threads are launched by T.Kernel and do not leave, arrive or wait for other blocks by "
        "themselves; in a role, elements are divided by layouts. Write the work with T.Parallel "
        "and tile operations, or without roles.",
    ),
    "E1502": (
        "needs particular hardware",
        "The name is an instruction of one family of devices. The compiler chooses such "
        "instructions by itself from T.copy, T.gemm and T.Pipelined.",
    ),
    "E1503": (
        "option not available",
        "The option belongs to another compiler or another device. Leave it out.",
    ),
    "E1504": (
        "unknown name",
        "The language has no such name, or a value of the kernel no such attribute. The help line "
        "lists the nearest ones.",
    ),
    "E1505": (
        "bare address",
        "A pointer has no extent, so that no access through it can be guarded or checked. Pass "
        "tensors: stack equal ones along an axis, lay those of varying length behind each other "
        "with a tensor of offsets, and take parts of a tensor by T.view, T.reshape or a region.",
    ),
    "E1506": (
        "raw code",
        "The name builds or calls code of another compiler, which means nothing here.",
    ),
    "E1507": (
        "name of a package that is not installed",
        "The name belongs to one family of devices and comes from the package of its target. "
        "Install the package that the message names.",
    ),
    "E1508": (
        "vector made of several values",
        "An element type converts one value. T.Broadcast and T.Ramp make vectors.",
    ),
    "E1509": (
        "type unknown to torch",
        "torch has no dtype of that name.",
    ),
    "E1511": (
        "bad role block",
        "T.ws names groups of 128 threads that the kernel has, one or several neighbours. Blocks "
        "have the same groups or different ones, and stand in no other block.",
    ),
    "E1512": (
        "statement that belongs to no role",
        "Each role runs the loops around its T.ws blocks by itself. Between the blocks stand only "
        "scalars and barriers, and a buffer in registers belongs to one role.",
    ),
    "E1513": (
        "bad barrier",
        "T.alloc_barrier makes barriers with positive numbers of arrivals at the beginning of a "
        "kernel; bar[i] is one of them, and parities are integers.",
    ),
    "E1514": (
        "asynchronous copy of another kind",
        "T.tma_copy and T.async_copy move bytes between global and shared memory. They convert "
        "nothing, and a T.tma_copy into shared memory completes onto a barrier.",
    ),
    "E1515": (
        "bad call of a function given as text",
        "T.call_extern names a function of T.import_source and the type of its result. Integers, "
        "bool, float32 and float64 go by value, elements of any type that fills bytes by address.",
    ),
    "E1516": (
        "tensor that a pointer is not",
        "A parameter of T.ptr is one tensor, in row-major order, of the type that T.make_tensor "
        "says. T.StridedTensor declares strides.",
    ),
    "E1517": (
        "no barrier of the whole grid there",
        "What follows T.sync_grid is a kernel of its own. It stands in the body of the kernel "
        "itself, and only global memory outlives it.",
    ),
    "E1518": (
        "schedule of roles that contradicts itself",
        "T.annotate_ws_schedule takes roles of different warps, pipelines with versions, and "
        "scopes that name them. It changes nothing else: how roles are divided is planned.",
    ),
    "E1521": (
        "not for single threads",
        "Statements that name a thread run once for each thread of the block. What all threads do "
        "together (barriers, tile operations, T.Parallel) does not depend on the thread: not in a "
        "branch or loop that only some threads take, and not in its operands.",
    ),
    "E1522": (
        "bad argument of a thread function",
        "Lanes, widths and masks are integers; the width of a group of lanes is a power of two up "
        "to a warp, and a mask is known while tracing.",
    ),
    "E1601": (
        "argument cannot be assigned to",
        "A T.Ref parameter takes a T.alloc_var, an element, a buffer or a region.",
    ),
    "E1602": (
        "statement in a lazy operand",
        "Whether the right side of `and`, `or` and ternaries runs is not known while tracing, so "
        "it "
        "may not make buffers or statements. Call the macro in a statement of its own.",
    ),
    "E1603": (
        "macros nested too deeply",
        "A macro is traced in place at every call. One that calls itself must end by Python "
        "values.",
    ),
}
