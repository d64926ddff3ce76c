"""Codes of broken promises of the compiler itself; each asks for a report."""

CODES: dict[str, tuple[str, str]] = {
    "E9001": (
        "one of the compiler's own rules was broken",
        "What one part of the compiler promises another does not hold: an op that is declared"
        " twice or with a field that has no role, a statement that an earlier pass should have"
        " removed, an entry that a library lacks. The message says which. It is our mistake, not"
        " the kernel's: please report it with the program.",
    ),
    "E9002": (
        "a pass failed or broke the program",
        "The pass raised something other than a diagnostic, or what it made does not verify. The"
        " error names a file with the program before the pass and the command that repeats it.",
    ),
}
