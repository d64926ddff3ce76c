"""Codes of broken promises of the compiler itself; each asks for a report."""

CODES: dict[str, tuple[str, str]] = {
    "E9001": (
        "a malformed op declaration",
        "An op was registered twice, without a docstring, or with a field that says neither"
        " operand, attr, binds nor region.",
    ),
    "E9002": (
        "a pass failed or broke the program",
        "The pass raised something other than a diagnostic, or what it made does not verify. The"
        " error names a file with the program before the pass and the command that repeats it.",
    ),
}
