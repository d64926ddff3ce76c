"""Codes of mistakes with element types and the operands of operators."""

CODES: dict[str, tuple[str, str]] = {
    "E0201": (
        "unknown element type",
        "An element type is a name such as float16, int32, bfloat16 or float32x4, a dtype object "
        "of an array library in this machine's byte order, or Python's bool, int or float. Complex "
        "numbers, strings and structures have no element type. A vector has 1 to 4096 lanes.",
    ),
    "E0202": (
        "operands without a common type",
        "The wider type wins and a float wins over an integer, but two different float formats of "
        "at most 8 bits do not mix, nor do vectors of different lengths, nor an integer literal "
        "beyond 64 bits with an integer. Cast one operand to the type you mean.",
    ),
    "E0203": (
        "division of integers with /",
        "Whether / of integers should give a float or an integer is ambiguous. Write // (rounds "
        "down), truncdiv (rounds towards zero), or cast an operand to a float.",
    ),
    "E0204": (
        "integer division of floats",
        "// and % and their relatives are for integers. Write floor(x / y) for the quotient and "
        "fmod(x, y) for the remainder.",
    ),
    "E0205": (
        "bit operation on a float",
        "&, |, ^, ~, << and >> work on integers and on bool (a shifted bool is an int32). "
        "Cast the value, or reinterpret its bits as an unsigned integer of the same width.",
    ),
    "E0206": (
        "unary minus on an unsigned type",
        "The type holds no negative numbers. Cast to a signed type first, or write 0 - x where "
        "wrap-around is meant.",
    ),
}
