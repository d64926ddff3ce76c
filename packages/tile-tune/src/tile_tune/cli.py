"""`tile tune`: search the best parameters of a kernel, keep them, and say them; without a kernel,
list what is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tile_frontend.cli_kernels import PLACE, add_kernel, arguments_of, object_at, of_user, values
from tile_frontend.cli_output import Table, show
from tile_ir.exit_status import ExitStatus

if TYPE_CHECKING:
    import argparse

    from tile_tune.autotuned import Autotuned
    from tile_tune.database import Record


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_kernel(parser, f"{PLACE}; without it, what the database knows is listed", optional=True)
    parser.add_argument(
        "--choice",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE,VALUE",
        help="a parameter and its values, instead of the space that the kernel has",
    )
    parser.add_argument("--searcher", help="exhaustive, random, evolutionary, halving, guided")
    parser.add_argument("--trials", type=int, help="candidates to try at most")
    parser.add_argument("--seconds", type=float, help="begin no new round after this time")
    parser.add_argument("--table", type=Path, help="write the choice into this YAML table as well")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> ExitStatus:
    if options.kernel is None:
        return _known(options)
    with of_user(options.json):
        tuned = _autotuned(options)
        record = tuned.tune(**arguments_of(options))
        result = tuned.results[record.key]
    if options.table is not None:
        from tile_tune.tables import export_table

        export_table(options.table, tuned.database, lambda r: r.key == record.key)
    document = {
        **_document(record),
        "kernel": result.name,
        "trials": result.counts(),
        "seconds": result.seconds,
        "ties": [str(c) for c in result.ties],
        "code": result.code(),
    }
    show(options.json, document, result.table())
    return ExitStatus.DONE


def _known(options: argparse.Namespace) -> ExitStatus:
    from tile_tune.database import Database

    records = Database().records()
    rows = [
        (r.key.kernel, r.key.bucket, r.key.target, f"{r.milliseconds:.4g}", str(r.configuration))
        for r in records
    ]
    table = [Table(head=("kernel", "for", "target", "ms", "choice"), rows=rows)] if rows else []
    show(options.json, [_document(r) for r in records], *table, f"{len(records)} choices known")
    return ExitStatus.DONE


def _document(record: Record) -> dict[str, Any]:
    return {
        "kernel": record.key.kernel,
        "bucket": record.key.bucket,
        "target": record.key.target,
        "parameters": record.configuration.arguments,
        "plan": dict(record.configuration.plan),
        "milliseconds": record.milliseconds,
        "interval": [record.low, record.high],
    }


def _autotuned(options: argparse.Namespace) -> Autotuned:
    """The kernel with its space, or with what the command line says instead."""
    from tile_tune.autotuned import Autotuned, autotune

    found = object_at(options.kernel)
    tuned = found if isinstance(found, Autotuned) else autotune(found)
    space = dict(_choice(word) for word in options.choice) or tuned.configs
    chosen = {
        "searcher": options.searcher,
        "trials": options.trials,
        "seconds": options.seconds,
        "target": options.target,
        "device": options.device,
        "dims": values(options.dim) or None,
        "progress": "silent" if options.json else None,
    }
    given = {**tuned.options, **{n: v for n, v in chosen.items() if v is not None}}
    made: Autotuned = autotune(
        tuned.kernel,
        configs=space,
        key=tuned.key,
        bucket=tuned.bucket,
        tables=tuned.tables,
        database=tuned.database.path,
        **given,
    )
    return made


def _choice(word: str) -> tuple[str, list[Any]]:
    name, _, listed = word.partition("=")
    return name, [values([f"{name}={text}"])[name] for text in listed.split(",")]
