"""The comparison of machines at the end: with each other, with the server, with what was said."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from memory_fabric.sharing.replica.wire import DISMISSAL
from team_log.cluster import Server
from team_log.machines import Machine, Statement, Steps, is_of_others

View = dict[str, tuple[str, ...]]


class Found(NamedTuple):
    """The result of all rounds. `missing` were acknowledged and are nowhere; `differing` are
    sentences about machines that do not hold what the others do, or what was said.
    """

    rounds: int
    counts: Mapping[str, int]
    acknowledged: int
    on_server: int
    records: int
    missing: tuple[str, ...]
    differing: tuple[str, ...]


class Truth:
    """Every record that was said, by id: its text, last reason and member."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.reasons: dict[str, str] = {}
        self.by: dict[str, str] = {}
        # Ever forgotten, even if another machine of the same user then said it again.
        self.forgotten: set[str] = set()
        # Members by text that they forgot: nobody else's record of that text comes back to them.
        self.unwanted: dict[str, set[str]] = {}
        # Closed by another member, who alone sees it so.
        self.closed_by_others: set[str] = set()
        # Members by entity that they deleted with what others said of it, or merged.
        self.deleted: dict[str, set[str]] = {}
        # Entities that were deleted: one that only records bring is deleted on that machine alone.
        self.removed: set[str] = set()
        # Texts and names that were purged: no file may hold them.
        self.purged: set[str] = set()


def single_of(machines: Sequence[Machine]) -> set[str]:
    """Return the members with one machine: all must hold what that one holds."""
    counted = Counter(machine.member for machine in machines)
    return {member for member, count in counted.items() if count == 1}


def compare(
    server: Server,
    machines: Sequence[Machine],
    truth: Truth,
    acknowledged: Mapping[str, Statement | None],
    rounds: int,
    counts: Mapping[str, int],
) -> Found:
    """Compare machines that have exchanged everything."""
    with closing(server.superuser()) as connection:
        rows = connection.execute(
            "SELECT space, op_id::text, base::text[], superseded OR key LIKE 'machine:%' "
            "OR (kind <> 'sealed' AND coalesce(payload ->> 'value', '') = ''), "
            "CASE kind WHEN 'sealed' THEN author END "
            "FROM memory_fabric.operations WHERE kind <> 'purge'"
        ).fetchall()
    replaced = {id_ for row in rows for id_ in row[2]}
    there = replaced | {row[1] for row in rows}
    # Two machines of a member may state the same at once; of these, one is enough.
    kept = {acknowledged[id_] for id_ in there & acknowledged.keys()} - {None}
    missing = [id_ for id_, said in acknowledged.items() if id_ not in there and said not in kept]
    # Sent again after the server was set back, one may come after another that replaced it.
    current = [
        (space, id_, only)
        for space, id_, _, no_head, only in rows
        if not no_head and id_ not in replaced
    ]
    single = single_of(machines)
    views = [_view(machine, truth) for machine in machines]
    differing: list[str] = []
    for machine, view in zip(machines, views, strict=True):
        differing += _against_server(machine, current)
        differing += _left_over(machine, server)
        differing += _unlike(machine, view, machines[0], views[0], truth)
        differing += _against_truth(machine, view, truth, single)
        differing += _graph_unlike(machine, machines[0], truth)
        differing += _still_held(machine, truth, server)
    differing += _own_unlike(machines, truth)
    return Found(
        rounds=rounds,
        counts=dict(sorted(counts.items())),
        acknowledged=len(acknowledged),
        on_server=len(rows),
        records=len(views[0]),
        missing=tuple(sorted(missing)),
        differing=tuple(differing),
    )


def _against_server(
    machine: Machine, current: Sequence[tuple[str, str, str | None]]
) -> Iterator[str]:
    """Yield what a machine has that the server has not, and the reverse.

    What is sealed only the machines of its author keep. Of what was withdrawn nothing is compared
    here unless it is sealed: where it was erased, some have an id, and others nothing.
    """
    for tie in machine.ties:
        there = {
            id_
            for space, id_, only in current
            if space == tie.space and only in (None, machine.member)
        }
        heads = machine.heads(tie.kind).items()
        is_sealed = tie.kind == "user"
        here = {id_ for id_, (kind, value) in heads if value or is_sealed or kind == DISMISSAL}
        for id_ in sorted(here ^ there):
            where = "here" if id_ in here else "on the server"
            yield f"{machine.name}: operation {id_} only {where}"


def _left_over(machine: Machine, server: Server) -> Iterator[str]:
    """Yield what is still exchanged, though nothing was said."""
    connection = machine.connect(server)
    assert connection is not None
    with machine.clock():
        outcome = machine.exchange(connection, Steps())
    if outcome.sent or outcome.read or outcome.refused:
        yield f"{machine.name}: there was still something to exchange: {outcome}"


def _view(machine: Machine, truth: Truth) -> View:
    """Return what is told of each record."""
    found: View = {}
    for id_, record in machine.records().items():
        author = record.author if is_of_others(record) else machine.member
        closed = "" if id_ in truth.closed_by_others else record.superseded_by
        names = json.dumps(sorted(entity.name for entity in record.entities))
        found[id_] = (author, record.what, record.why, names, closed)
    return found


def _unlike(
    machine: Machine, view: View, other: Machine, first: View, truth: Truth
) -> Iterator[str]:
    """Yield the records that a machine shows otherwise than the first one does."""
    for id_ in sorted(view.keys() | first.keys()):
        here, there = view.get(id_), first.get(id_)
        if here == there:
            continue
        closed_by = {one[4] for one in (here, there) if one} - {""}
        if here and there and here[:4] == there[:4] and not closed_by <= view.keys() & first.keys():
            continue  # who forgot what closes another sees the other as open
        text = (here or there or ("", ""))[1]
        if not {machine.member, other.member} & truth.unwanted.get(text, set()):
            yield f"{machine.name}: record {id_} is {here}, and {there} on {other.name}"


def _graph_unlike(machine: Machine, other: Machine, truth: Truth) -> Iterator[str]:
    """Yield the rows of the graph that only one of two machines has.

    What a record brings to its author's graph is not sent.
    """
    here, there = machine.graph(), other.graph()
    for row in sorted(here.keys() ^ there.keys()):
        names = {row[0], row[2]}
        if not here.get(row, there.get(row)):
            continue
        if not any({machine.member, other.member} & truth.deleted.get(n, set()) for n in names):
            yield f"{machine.name}: {row} only {'here' if row in here else f'on {other.name}'}"


def _against_truth(
    machine: Machine, view: View, truth: Truth, single: Collection[str]
) -> Iterator[str]:
    """Yield what was said and is not told here as it was said."""
    for id_, text in truth.texts.items():
        if machine.member in truth.unwanted.get(text, ()):
            continue
        by, reason = truth.by[id_], truth.reasons[id_]
        author, what, why = view.get(id_, ("", "", ""))[:3]
        if id_ in truth.forgotten:
            if what and by in single:
                yield f"{machine.name}: forgotten by {by} and still there: {text}"
        elif (author, what) != (by, text):
            yield f"{machine.name}: said by {by} and not there: {text}"
        elif by in single and why != reason:
            yield f"{machine.name}: {text}: the last reason was {reason}, not {why}"


def _own_unlike(machines: Sequence[Machine], truth: Truth) -> Iterator[str]:
    """Yield the rows that machines of one user have otherwise than the first of them.

    A deleted entity takes what others said of it from the machine on which it was deleted; a
    forgotten text, which another says, too, may be shown on one and not on the other.
    """
    firsts: dict[str, tuple[str, dict[str, list[str]]]] = {}
    for machine in machines:
        if machine.key is None:
            continue
        name, first = firsts.setdefault(machine.member, (machine.name, machine.rows()))
        for kind, rows in machine.rows().items():
            for row in sorted(set(rows) ^ set(first[kind])):
                where = machine.name if row in rows else name
                apart = [f"'{e}'" for e, by in truth.deleted.items() if machine.member in by]
                apart += [text for text, by in truth.unwanted.items() if machine.member in by]
                if "project" not in kind or not any(text in row for text in apart):
                    yield f"{machine.name}: {kind}, only on {where}: {row}"


def _still_held(machine: Machine, truth: Truth, server: Server) -> Iterator[str]:
    """Yield what was purged and is still in a file of a machine, or on the server."""
    for text in machine.held(truth.purged):
        yield f"{machine.name}: purged and still there: {text}"
    with closing(server.superuser()) as connection:
        for text in truth.purged:
            query = "SELECT count(*) FROM memory_fabric.operations WHERE payload::text LIKE %s"
            [number] = connection.execute(query, (f"%{text}%",)).fetchone() or (0,)
            if number:
                yield f"purged and in {number} operations on the server: {text}"
