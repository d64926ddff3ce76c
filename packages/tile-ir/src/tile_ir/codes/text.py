"""Codes of mistakes in the text of programs."""

CODES: dict[str, tuple[str, str]] = {
    "E0001": (
        "missing version line",
        "A module's text starts with its version, as in `tile.ir 1.0 tile`.",
    ),
    "E0002": (
        "version not readable",
        "The `tile` stage is read across minor versions of one major. The later stages change "
        "with the compiler: only the tile-ir version that wrote such a text reads it.",
    ),
    "E0003": (
        "unexpected character",
        "The character belongs to no token of the text format.",
    ),
    "E0004": (
        "unexpected token",
        "The message says what must stand there and what stands there instead. GRAMMAR.md in "
        "tile_ir/text holds the whole grammar.",
    ),
    "E0005": (
        "unknown statement",
        "A statement starts with the name of an op. Ops of other distributions exist only while"
        " those are installed and loaded.",
    ),
    "E0006": (
        "undeclared name",
        "A name is a parameter, a dimension, or bound by a statement before it, in the same "
        "body or an enclosing one.",
    ),
    "E0007": (
        "unknown type",
        "Types have short names: bool, i4 i8 i16 i32 i64, u4 to u64, f16 bf16 tf32 f32 f64, "
        "f8e4m3fn and the other narrow floats; a vector is `f32x4`.",
    ),
    "E0008": (
        "unknown function",
        "A call names a type (a conversion), an operator written as a call (min, max, ceildiv, "
        "truncdiv, truncmod, abs, select, ramp, broadcast) or a function of "
        "`tile_ir.functions`.",
    ),
    "E0009": (
        "wrong number of arguments",
        "The function takes another number of arguments.",
    ),
    "E0010": (
        "literal not of its type",
        "The number does not fit in the type, or is an integer where the type has floats. "
        "Untyped integers are i32, untyped floats f32; others name their type, as in `5:i64`.",
    ),
    "E0011": (
        "operands of different types",
        "The text has no implicit conversions. Write the conversion, as in `f32(x)`, or give "
        "the literal its type, as in `1.0:f16`.",
    ),
    "E0012": (
        "unknown or repeated attribute",
        "Attributes follow the fixed part of a statement, each at most once, with commas between.",
    ),
    "E0013": (
        "wrong number of indices",
        "A buffer is indexed with exactly one index, or one range, for each of its axes.",
    ),
    "E0014": (
        "missing attribute",
        "The statement has an attribute without default: give it.",
    ),
    "E0015": (
        "nested too deeply",
        "The text, or an expression of the kernel, nests deeper than Python's recursion limit "
        "allows. Bind parts with `let`, or to names.",
    ),
    "E0016": (
        "bad string",
        r"A string ends on its line. Its escapes are \\, \", \n, \t, \r and \u{hex}.",
    ),
    "E0017": (
        "statement or attribute newer than the text",
        "The version line promises an older vocabulary. Raise it, or do without what is newer.",
    ),
    "E0018": (
        "buffer and scalar confused",
        "A buffer is read with indices, as in `A[i, j]`; a scalar has none.",
    ),
    "E0019": (
        "bad layout",
        "The text in brackets is no layout; the message says why. See the layout grammar in "
        "GRAMMAR.md.",
    ),
}
