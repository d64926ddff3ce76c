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
    "E0710": (
        "channel protocol violated",
        "Running the waits and hand-overs of all roles leads to a deadlock, to an access of a slot"
        " that its role does not hold, or to memory touched while an asynchronous operation still"
        " uses it. The notes show the interleaving that leads there.",
    ),
}
