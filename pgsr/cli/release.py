"""`pgsr release`: from microdata to protected tables, or from paid measurements to tables again."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsr.cli.options import Json, new_folder
from pgsr.cli.output import bars, emit
from pgsr.cli.paid import MEASURED, complete, open_ledger
from pgsr.cli.released import ledger_record, outcome, plan, show_release
from pgsr.errors import InputError

if TYPE_CHECKING:
    from pgsr.cli.output import Progress
    from pgsr.config import Query, ReleaseConfig
    from pgsr.hierarchy import Hierarchy
    from pgsr.ledger import Ledger
    from pgsr.mechanism import Release


def release(
    config: Annotated[Path, typer.Argument(help="Configuration, a TOML file.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="New folder for the release.", show_default="needed to release")
    ] = None,
    from_noisy: Annotated[
        Path | None,
        typer.Option(
            help="Post-process the measurements of this folder again; costs nothing.", show_default=False
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show cost and expected error; spend and write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Protect, publish and prove: noisy counts, made consistent, at the expense of a privacy ledger."""
    from pgsr.config import load_config

    settings = load_config(config)
    _check_solve(settings, config)
    if out is None and not dry_run:
        raise InputError("no folder to write to", "--out", "give --out DIR, or --dry-run")
    if from_noisy is not None and dry_run:
        raise InputError("--from-noisy costs nothing", "--dry-run", "leave one of them out")
    if out is not None:
        new_folder(out)
    with bars() as report:
        if report is not None:
            report("read", 0.0)
        tree = settings.hierarchy.build()
        if out is not None and from_noisy is not None:
            record = _again(settings, tree, config, out, from_noisy, report)
        else:
            queries = _queries(settings, tree, config)
            if dry_run or out is None:
                record = plan(settings, queries, _ledger(settings, config))
            else:
                record = _release(settings, queries, config, out, report)
    ledger = record["ledger"]
    with nullcontext() if dry_run else complete(out, ledger and ledger["file"]):
        if as_json:
            emit(record)
        else:
            show_release(record)
        sys.stdout.flush()


def _check_solve(settings: ReleaseConfig, config: Path) -> None:
    """Refuse the name of no solver; the error names file and key."""
    from pgsr.solvers import registry

    names = ("auto", *registry.names())
    if settings.solve.solver not in (None, *names):
        what, way_out = f"unknown solver '{settings.solve.solver}'", f"use one of {', '.join(names)}"
        raise InputError(what, f"{config}, solve.solver", way_out)


def _queries(settings: ReleaseConfig, tree: Hierarchy, config: Path) -> list[Query]:
    """All queries with their data, checked, before anything is charged."""
    from pgsr.config import build_query
    from pgsr.config.queries import named

    found = [build_query(settings, k, tree, source=str(config)) for k in range(len(settings.parts()))]
    for query in found:
        assert query.data is not None  # it is read unless an earlier release is given
        with named(config, query.name):
            query.mechanism.check(query.data)
    return found


def _ledger(settings: ReleaseConfig, config: Path) -> Ledger | None:
    """The ledger of the configuration, or None where it asks for none."""
    from pgsr.config import NO_LEDGER

    name = settings.privacy.ledger
    if name == NO_LEDGER:
        return None
    return open_ledger(config.parent / name, "pgsr ledger create FILE --epsilon E")


def _release(
    settings: ReleaseConfig, queries: Sequence[Query], config: Path, out: Path, report: Progress | None
) -> dict[str, Any]:
    """Charge all queries at once, then measure, post-process and write; measurements survive a failure."""
    from pgsr.ledger import Ledger
    from pgsr.mechanism import EstimateError
    from pgsr.mechanism import release as measure_and_estimate
    from pgsr.noise import SeededBits, SystemBits

    ledger = _ledger(settings, config)
    events = [query.mechanism.event for query in queries]
    rng = SystemBits() if settings.privacy.seed is None else SeededBits(settings.privacy.seed)
    label = ", ".join(query.name or config.stem for query in queries)
    rest = _reserved(out)
    state = ""
    done: list[tuple[Query, Release]] = []
    failed: list[EstimateError] = []
    try:
        new_folder(out)  # another run may have written it since we looked
        if ledger is not None:
            state = f"{ledger.path} may have been charged: see pgsr ledger show {ledger.path}"
            try:
                ledger.charge(events, label=label)
            except InputError:  # which says so itself: nothing is charged
                state = ""
                raise
            state = f"{ledger.path} was charged before, and that cost is spent"
        for query in queries:
            kept = rest / query.name if query.name else rest

            def keep(partial: Release, query: Query = query, kept: Path = kept) -> None:
                _stamped(partial, query).save(kept)

            try:
                assert query.data is not None  # see `_queries`
                made = measure_and_estimate(
                    query.mechanism,
                    query.data,
                    ledger=Ledger(limit=query.mechanism.event),  # charged above, with all the others
                    rng=rng,
                    label=query.name or config.stem,
                    progress=report,
                    on_measured=keep,
                )
            except EstimateError as error:
                failed.append(error)  # the other queries are paid for as well: go on
                continue
            done.append((query, _stamped(made, query)))
        if failed:
            raise failed[0]
        _save(done, out, report)
    except BaseException as error:
        if any(place.name[0] != "." for place in rest.iterdir()):
            error.add_note(
                f"the noisy measurements are paid for and kept in {rest}: "
                f"go on with pgsr release {config} --out {out} --from-noisy {rest}"
            )
        else:
            rest.rmdir()
            if state:
                error.add_note(state)
        raise
    with complete(out, ledger and ledger.path):
        shutil.rmtree(rest)
        return outcome(done, out, ledger_record(ledger))


def _reserved(out: Path) -> Path:
    """Make the folder for the measurements, before anything is charged; no other run can have it too."""
    rest = out.with_name(out.name + MEASURED)
    try:
        rest.mkdir()
    except FileExistsError:
        if rest.is_dir() and any(rest.iterdir()):
            raise InputError(
                "paid measurements of another run are here",
                str(rest),
                f"if it has ended, use them: --from-noisy {rest}; or move them away",
            ) from None
        way_out = "wait for it; if none is running, remove the folder"
        raise InputError("another run is writing here", str(rest), way_out) from None
    return rest


def _again(
    settings: ReleaseConfig, tree: Hierarchy, config: Path, out: Path, noisy: Path, report: Progress | None
) -> dict[str, Any]:
    """Post-process the measurements of an earlier release; the data are not read, the ledger not touched."""
    from pgsr.config import build_query
    from pgsr.config.queries import named
    from pgsr.mechanism import Release, reprocess

    done: list[tuple[Query, Release]] = []
    for place, (name, *_) in enumerate(settings.parts()):
        folder = noisy / name if name else noisy
        earlier = Release.load(folder)
        parameters = earlier.provenance.parameters
        total = parameters.get("total")
        if "noisy" not in earlier.measurements or not isinstance(total, int):
            raise InputError(
                "no noisy counts", str(folder), "give the folder of a release, or its measurements"
            )
        query = build_query(
            settings,
            place,
            tree,
            source=str(config),
            earlier_total=total,
            earlier_from=str(parameters.get("total_from", "the earlier release")),
        )
        measured = query.mechanism.measured(earlier.measurements["noisy"])
        with named(config, f"--from-noisy {folder}"):
            made = reprocess(query.mechanism, measured, earlier, progress=report)
        done.append((query, _stamped(made, query)))
    _save(done, out, report)
    return {**outcome(done, out, None), "from_noisy": str(noisy)}


def _save(done: Sequence[tuple[Query, Release]], out: Path, report: Progress | None) -> None:
    """Write all releases, or none: into `out` itself, or a folder a query."""
    from pgsr.atomic import atomic_dir

    if report is not None:
        report("write", 0.0)
    if not done[0][0].name:
        done[0][1].save(out)
        return
    with atomic_dir(out) as temporary:
        for query, made in done:
            made.save(temporary / query.name)


def _stamped(made: Release, query: Query) -> Release:
    """The release with the origin of the total among the parameters of its provenance."""
    from dataclasses import replace

    from pgsr.provenance import digest

    parameters = {**made.provenance.parameters, "total_from": query.total_from}
    provenance = replace(made.provenance, parameters=parameters, config_digest=digest(parameters))
    return replace(made, provenance=provenance)
