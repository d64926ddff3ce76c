"""Codes of the tuner: spaces, workers that run trials, the database of results, shipped tables."""

CODES: dict[str, tuple[str, str]] = {
    "E2201": (
        "not a configuration",
        "A configuration is a dict of the kernel's Python arguments, with pins of the Plan under "
        '"plan". Values are numbers, text, bools, None, and lists of those.',
    ),
    "E2202": (
        "space without members",
        "No combination of values meets the constraints, an axis is empty, a constraint itself "
        "failed, or the product is too large to be listed.",
    ),
    "E2203": (
        "function cannot be sent to workers",
        "Trials run in other processes, which import the kernel by module and name. Define it at "
        "the top of a module or script, or install cloudpickle, which sends functions by value.",
    ),
    "E2204": (
        "no candidate works",
        "Every configuration was pruned or failed. The notes count the reasons; the first of each "
        "kind is quoted.",
    ),
    "E2205": (
        "unknown setting of the tuner",
        "An option of the tuner or an environment variable has a value that it does not take. "
        "TILE_TUNE is off, cached or on.",
    ),
    "E2206": (
        "tuning database cannot be written",
        "The folder is read-only, the disk is full, or another process held the file for too long. "
        "The result is used in this process and not kept. Set TILE_TUNE_DATABASE to a file that "
        "can be written.",
    ),
    "E2207": (
        "tuning database is damaged",
        "The file is no database or its pages are broken. It was moved aside, not deleted, and a "
        "new one begun.",
    ),
    "E2208": (
        "tuning database of a newer version",
        "The file was written by a newer tile-tune, so it is left alone. Update tile-tune, or set "
        "TILE_TUNE_DATABASE to another file.",
    ),
    "E2209": (
        "ranks have no common choice",
        "Rank 0 of the job tunes and the others take its choice from the database; it failed, or "
        "nothing came in time. All ranks need one database: set TILE_TUNE_DATABASE to a file that "
        "all see, or tune beforehand and set TILE_TUNE=cached.",
    ),
    "E2210": (
        "malformed tuning table",
        "The YAML file is no table of tuned configurations, or an entry lacks a field. "
        "`export_table` writes one to start from.",
    ),
    "E2211": (
        "workers are lost",
        "The executor that was to run the trials is broken or shut down, or lost its workers more "
        "often than it retries.",
    ),
    "E2212": (
        "optional package missing",
        "What was asked for needs a package that is not installed; the help line names the extra.",
    ),
    "E2213": (
        "stored choice does not fit",
        "A stored configuration is refused for these arguments, so the function's own defaults are "
        "used. Tune again, or remove the entry from the table.",
    ),
    "E2214": (
        "trial crashed",
        "The process that ran a candidate died. The candidate is reported and left out.",
    ),
    "E2215": (
        "trial did not end",
        "A candidate was still building or running when its time was up. Its process was stopped; "
        "the candidate is reported and left out.",
    ),
    "E2216": (
        "candidate gives wrong values",
        "Its outputs differ from the reference by more than the tolerance, were not written "
        "everywhere, or it wrote to an input. The candidate is reported and left out.",
    ),
}
