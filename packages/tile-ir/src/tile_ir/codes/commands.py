"""Codes of the command line."""

CODES: dict[str, tuple[str, str]] = {
    "E2601": (
        "an exception left a kernel's file",
        "The command runs the file to find its kernels, and their functions to trace them. The "
        "notes have the exception and the line. Keep what a file does as a script under "
        "`if __name__ == '__main__':`.",
    ),
    "E2602": (
        "argument that is no NAME=VALUE",
        "Arguments of a kernel function and its dimensions are given as NAME=VALUE, as in M=1024 "
        "or dtype=float16.",
    ),
    "E2603": (
        "a command needs a library that is not installed",
        "The message names it and what to install. No other command needs it.",
    ),
    "E2604": (
        "no such code",
        "`tile explain` knows the codes of the installed packages; the message lists those near "
        "the one that was asked for.",
    ),
    "E2605": (
        "report of another session",
        "`tile fuzz --resume FILE` goes on with the numbers, targets and pipelines that the file "
        "was begun with. Give the same options, or begin a new file.",
    ),
}
