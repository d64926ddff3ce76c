"""Codes of planning, of the user's pins, and of the proof that channels are used right."""

CODES: dict[str, tuple[str, str]] = {
    "E0701": (
        "pin names nothing",
        "A pin replaces one decision of the Plan by its key, and no decision has this key for this"
        " kernel on this target. `kernel.explain()` lists the keys.",
    ),
    "E0702": (
        "pin cannot be met",
        "The pinned value is none that this decision can take; the notes say what is possible."
        " Choose one of those, or remove the pin.",
    ),
    "E0703": (
        "shared memory exceeded",
        "The shared buffers of the kernel, with the slots of its pipelines, are larger than a"
        " block may have on this target. Use fewer stages or smaller tiles.",
    ),
    "E0704": (
        "schedule breaks a dependence",
        "The order or stage asked for would let a statement run before one whose result it needs,"
        " or overwrite what is still to be read. The notes name the two statements.",
    ),
    "E0705": (
        "not a plan",
        "The text is not the canonical text of a Plan: one `key = value` line per decision.",
    ),
    "E0711": (
        "hand-written barriers used wrongly",
        "Roles of the kernel hang, or touch memory that another role or a copy in flight uses. "
        "The notes show the steps that lead there, with their lines. Look for an arrival or a wait "
        "that is missing, for a parity or an index that is off by one, or for a number of arrivals "
        "that is not the number of threads that come.",
    ),
    "E0712": (
        "the target lacks what the kernel does by hand",
        "Roles of a block's threads need barriers that count arrivals, and a box that one thread "
        "copies has rows of a size that the device's engine takes. T.copy and T.gemm in a "
        "T.Pipelined loop run everywhere.",
    ),
    "E0713": (
        "source text of another target",
        "The kernel calls a function that is given as source text of one target's language, and"
        " this target has another one. Pass `reference=` to T.call_extern, a function in the tile"
        " language that does the same, which other targets carry out.",
    ),
    "E0710": (
        "channel protocol violated",
        "Running the waits and hand-overs of all roles leads to a deadlock, to an access of a slot"
        " that its role does not hold, or to memory touched while an asynchronous operation still"
        " uses it. The notes show the interleaving that leads there.",
    ),
}
