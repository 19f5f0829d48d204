"""`merge`: puts parts of a run (shards, a Slurm array) together; overlaps must be the same bits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from ..observables import Summary
from ..progress import counted_progress
from ..studies import Cell
from .records import RAW, Ints, RecordSeries, Span, cover, gaps
from .run_directory import META, SHARDS, differences, joined, shards_in, situations
from .store import Store


def merge(
    out: str | Path,
    sources: Sequence[str | Path] = (),
    *,
    finish: Callable[[Store], object] | None = None,
) -> Store:
    """Make `out` hold the records of all `sources` besides its own; of what it has, nothing goes.

    Parameters
    ----------
    out : path
        A directory; it is made if it is not there.
    sources : list of path, optional
        Directories of runs of one study; ``out/shard-*-of-*`` where none are named.
    finish : callable, optional
        Called with the store when all is there, while no run may write into `out`.

    Returns
    -------
    Store
        That of `out`.

    Raises
    ------
    ValueError
        They are of different studies, seeds or versions, or hold different samples of the same
        realization: the message says where. Nothing is written then.
    OSError
        A file can not be read or written.
    """
    out = Path(out)
    paths = [Path(path) for path in sources] or shards_in(out)
    if not paths:
        raise ValueError(f"{out} holds no shards ({SHARDS}) to merge; name the directories")
    stores = [Store.open(path) for path in paths]
    if (out / META).exists():
        stores.append(Store.open(out))
    for first, second in combinations(stores, 2):
        if different := differences(first.meta, second.meta):
            raise ValueError(
                f"{first.path} and {second.path} hold different runs ({'; '.join(different)})"
            )
    for store in stores[: len(paths)]:
        _check_aims(stores[0], store)
    # Not by the cells on record: of an earlier, larger run there may be some that it has no longer.
    study = max((store.study for store in stores), key=lambda study: len(situations(study)))
    meta = stores[0].meta
    for store in stores[1:]:
        meta = joined(store.meta, meta)
    whole = Store(out, study, meta)
    for cell, files in counted_progress(_files(whole, stores), _codes(whole), "comparing records"):
        for one, other in combinations(files, 2):
            _compare_records(cell, one, other)
    with Store.create(out, study) as merged:
        with merged.writing():
            for backend in meta["backend"]:
                merged.note(backend=backend)
            shards = [store for store in stores if store.path != out]
            codes = _codes(merged)
            for _, (own, *others) in counted_progress(
                _files(merged, shards), codes, "joining records"
            ):
                for other in others:
                    _copy(other, own)
        if finish is not None:
            finish(merged)
    return merged


def missing_shards(paths: Sequence[Path]) -> list[str]:
    """Names of the shards that are not among `paths`, by what those are called.

    Examples
    --------
    >>> missing_shards([Path("out/shard-1-of-3"), Path("elsewhere")])
    ['shard-2-of-3', 'shard-3-of-3']
    """
    names = [re.fullmatch(r"shard-([0-9]+)-of-([0-9]+)", path.name) for path in paths]
    there = {(int(name[2]), int(name[1])) for name in names if name}
    wanted = [(count, i + 1) for count in sorted({n for n, _ in there}) for i in range(count)]
    return [f"shard-{i}-of-{count}" for count, i in wanted if (count, i) not in there]


def _check_aims(store: Store, other: Store) -> None:
    """Raise unless both were to stop at the same precision and budget: one would be lost."""
    for key in ("targets", "budget", "full"):
        if store.meta[key] != other.meta[key]:
            raise ValueError(
                f"{store.path} and {other.path} were run with other {key} ({store.meta[key]}, "
                f"{other.meta[key]}): run one of them again with those of the other"
            )


def _codes(store: Store) -> int:
    """Count the series of records: samples of each variant, summaries of each cell."""
    return sum(len(cell.variants) + 1 for cell in store.cells)


def _files(merged: Store, stores: Sequence[Store]) -> Iterator[tuple[Cell, list[RecordSeries]]]:
    """All records of a variant or cell in `merged`, before those of the same in `stores`."""
    seen = set()
    for cell in merged.cells:
        records = merged.records(cell)
        for own in (*records.samples, records.summaries):
            code = own.identity.id
            if code not in seen:
                seen.add(code)
                others = [store.files.file(code, lambda: "") for store in stores]
                files = [RecordSeries(one, own.identity) for one in others if one.path != own.path]
                yield cell, [own, *files]


def _compare_records(cell: Cell, records: RecordSeries, other: RecordSeries) -> None:
    """Raise ValueError where two stores disagree about realizations that both have."""
    if records.identity.kind == RAW:
        for first, end in _common(records.covered, other.covered):
            _compare_samples(cell, records, other, first, end)
    else:
        _compare_summaries(cell, records, other)
        _compare_summaries(cell, other, records)


def _common(some: list[Span], others: list[Span]) -> list[Span]:
    """Realizations that both hold."""
    end = max((stop for _, stop in (*some, *others)), default=0)
    return gaps(gaps(some, 0, end) + gaps(others, 0, end), 0, end)


def _compare_samples(
    cell: Cell, one: RecordSeries, other: RecordSeries, first: int, end: int
) -> None:
    """Raise ValueError where samples of the same realizations are not the same."""
    ours, theirs = _samples(one, first, end), _samples(other, first, end)
    if not np.array_equal(ours, theirs):
        row, column = np.argwhere(ours != theirs)[0]
        raise ValueError(
            f"{one.path} and {other.path} disagree about {cell.name}, "
            f"{one.identity.columns[column]}, realization {first + row:,}: "
            f"{ours[row, column]} and {theirs[row, column]} ps"
        )


def _compare_summaries(cell: Cell, one: RecordSeries, other: RecordSeries) -> None:
    """Refuse a summary that differs from those of `other` that together are of its realizations."""
    theirs = other.spans
    number_of = {span: number for number, span in reversed([*enumerate(theirs)])}
    for number, (first, end) in enumerate(one.spans):
        same = number_of.get((first, end))
        steps = cover(theirs, [], first, end) if same is None else []
        numbers = [step.record for step in steps] if same is None else [same]
        parts = [other.payload(record) for record in numbers if record is not None]
        ours = [one.payload(number)]
        if len(parts) == len(numbers) and parts != ours and _joined(parts) != _joined(ours):
            raise ValueError(
                f"{one.path} and {other.path} disagree about {cell.name}, "
                f"realizations {first:,} to {end - 1:,}"
            )


def _joined(parts: list[bytes]) -> bytes:
    total = Summary.from_bytes(parts[0])
    for part in parts[1:]:
        total = total + Summary.from_bytes(part)
    return total.to_bytes()


def _samples(file: RecordSeries, first: int, end: int) -> Ints:
    values = np.empty((end - first, len(file.identity.columns)), np.int64)
    file.samples(values, first, end)
    return values


def _copy(source: RecordSeries, target: RecordSeries) -> None:
    """Copy the records that the target lacks."""
    there = set(target.spans)
    for number, (first, end) in enumerate(source.spans):
        if (first, end) in there:
            continue
        if source.identity.kind == RAW:
            if gaps(target.covered, first, end):
                target.append_samples(first, _samples(source, first, end))
        elif any(step.missing for step in cover(target.spans, [], first, end)):
            target.append_summary(first, end - first, source.payload(number))
