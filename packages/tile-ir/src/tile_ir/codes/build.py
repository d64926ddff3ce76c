"""Codes of mistakes in expressions that the builder finds while a program is being made."""

CODES: dict[str, tuple[str, str]] = {
    "E0240": (
        "integer literal out of range",
        "The literal does not fit in its type. Use a wider type, or a literal in range.",
    ),
    "E0241": (
        "literal of the wrong kind",
        "A literal is one bool, integer or float; an integer type has no value with a fraction. "
        "Round the number, or cast it at run time.",
    ),
    "E0242": (
        "cast changes the number of lanes",
        "A cast works lane by lane. Only a scalar becomes a vector, with equal lanes.",
    ),
    "E0243": (
        "bitcast between different widths",
        "A bitcast reads the same bits as another type, so both types have the same number of "
        "bits. Use a cast to convert the value.",
    ),
    "E0244": (
        "unknown function",
        "Expressions may call the functions of the table `tile_ir.functions` only.",
    ),
    "E0245": (
        "wrong number of arguments",
        "The function takes another number of arguments; `tile_ir.functions` lists each.",
    ),
    "E0246": (
        "integer function on a float",
        "The function works on the bits of an integer. Cast or bitcast the argument first.",
    ),
    "E0247": (
        "index is not an integer",
        "Indices, region starts and extents are integers. Cast a float to i32 explicitly.",
    ),
    "E0248": (
        "wrong number of indices",
        "A buffer is indexed with exactly one index, or one range, for each of its axes.",
    ),
}
