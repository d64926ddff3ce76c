"""Codes of target descriptions and of the text that names a target."""

CODES = {
    "E0910": (
        "target description unreadable",
        "The YAML file of a target description, or one that it extends, cannot be read.",
    ),
    "E0911": (
        "target description is not YAML",
        "The text is not YAML, or not a mapping at its top level. The caret shows where.",
    ),
    "E0912": (
        "unknown key in a target description",
        "Descriptions are read strictly, so that a misspelt capability is not silently absent. "
        "The help line lists the keys that exist at this place.",
    ),
    "E0913": (
        "wrong value in a target description",
        "The value has another type than the key wants, or contradicts other values. The caret "
        "shows the value.",
    ),
    "E0914": (
        "missing or repeated key in a target description",
        "A required key is absent, or a key stands twice in one mapping.",
    ),
    "E0915": (
        "malformed target",
        "A target is a name and options: `cpu -arch=x86-64-v4`, or a mapping with `kind`, `arch` "
        "and options.",
    ),
    "E0916": (
        "unknown architecture",
        "The target has no description of that architecture, or needs one to be named. The note "
        "lists those described. A new architecture that needs no new instruction is a YAML file.",
    ),
}
