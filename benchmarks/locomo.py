#!/usr/bin/env python3
"""How well recall finds what a question needs, in long conversations of two people.

    python benchmarks/locomo.py --data FILE [--unit turn] [--path hot] [--out PRED.jsonl]
    python benchmarks/locomo.py --data FILE --noise
    python benchmarks/locomo.py --data FILE --table

FILE holds conversations (see conversations.py); each is written into a fresh memory of its own
through the product's write function (turns as episodes, observations as observations) and asked
its questions through the product's recall. PRED.jsonl gets a line a question: {"question",
"ranked": ids best first, "injected": how many the prompt hook would inject, "pushed": their ids}.

--path hot is what hooks use, the standard library alone; warm is what the server and the command
line use, with embeddings where the extra is installed. --noise asks each conversation's questions
against another one's memory, where every injection is noise, and reports beside it what the prompt
hook injects on the own memory. --table prints ours, ours without each signal, and plain baselines.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import conversations
from baselines import BASELINES
from memory_fabric.recall import rank, relevance
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.semantic.measure import Measure, measure_for
from memory_fabric.semantic.update import embed_all
from scoring import interval, mean, recall_at, reciprocal_rank

LIMIT = 20
# Sessions are ranked by their best turn, so that more turns are needed than are shown.
SESSION_LIMIT = 200
CATEGORIES = "1234"
# What pull finds in so many places, push is measured against.
PULLED = 3

# Each signal of the ranking: where it lies, and what takes it out.
SIGNALS: dict[str, tuple[tuple[Any, str, Any], ...]] = {
    "bm25": ((relevance, "BM25_WEIGHT", 0.0),),
    "coverage": ((relevance, "COVERAGE_WEIGHT", 0.0),),
    "turns beside it": (
        (relevance, "BEFORE_WEIGHT", 0.0),
        (relevance, "BEFORE_QUESTION_WEIGHT", 0.0),
        (relevance, "AFTER_WEIGHT", 0.0),
    ),
    "session or entity": ((relevance, "PARENT_WEIGHT", 0.0),),
    "name": ((relevance, "ENTITY_BOOST", 0.0),),
    "time": ((relevance, "TIME_BOOST", 0.0),),
    "kind of answer": ((relevance, "ANSWER_BOOST", 0.0),),
    "question penalty": ((relevance, "QUESTION_PENALTY", 0.0),),
    "near words": ((relevance, "NEAR_SHARE", 0.0),),
    "recency": ((rank, "RECENCY_WEIGHT", 0.0),),
}
SETTINGS = {
    "dedup": {"MEMORY_FABRIC_DEDUP_THRESHOLD": "1"},
    "boost": {"MEMORY_FABRIC_BOOST_FACTOR": "1"},
}


class Asked(NamedTuple):
    """One question with what came back: ids of pull best first, ids that push would inject."""

    question: str
    category: int
    gold: set[str]
    ranked: list[str]
    pushed: list[str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was asked for; 0."""
    options = _options(arguments)
    read = conversations.read(options.data)
    if options.table:
        print_table(read, options.path)
        return 0
    if options.noise:
        print_noise(read, options.unit, options.path)
        return 0
    asked = answers(read, options.unit, options.path, pushes=True)
    if options.out:
        _write(options.out, asked)
    print_figures(options.unit, options.path, asked)
    return 0


def answers(
    read: Sequence[Mapping[str, Any]],
    unit: str,
    path: str,
    *,
    pushes: bool = False,
    environ: Mapping[str, str] | None = None,
) -> list[Asked]:
    """Every question of every conversation, asked of its own memory."""
    found: list[Asked] = []
    for conversation in read:
        with _world(conversation, unit, environ) as world:
            found += [_ask(world, world, q, path, pushes) for q in world.questions()]
    return found


def strangers(read: Sequence[Mapping[str, Any]], unit: str, path: str) -> list[Asked]:
    """Every question of every conversation, asked of the memory of the next one."""
    found: list[Asked] = []
    for own, other in zip(read, [*read[1:], read[0]], strict=True):
        with _world(other, unit, None) as world:
            asked = [q for q in own["questions"] if q["evidence"]]
            found += [_ask(world, None, question, path, pushes=True) for question in asked]
    return found


def print_figures(unit: str, path: str, asked: Sequence[Asked]) -> None:
    """The figures of one unit."""
    scored = [one for one in asked if str(one.category) in CATEGORIES]
    print(f"{unit}, {path} path: {len(scored)} questions")
    low, high = interval([recall_at(10, one.ranked, one.gold) for one in scored])
    print(f"{_figures(scored)}  R@10 95 % [{100 * low:.1f}, {100 * high:.1f}]")
    for category in sorted({one.category for one in scored}):
        some = [one for one in scored if one.category == category]
        print(f"  category {category} ({len(some):3}): {_figures(some)}")
    print(_push_figures(scored))


def print_noise(read: Sequence[Mapping[str, Any]], unit: str, path: str) -> None:
    """What push injects where nothing is right, and where something is."""
    elsewhere = strangers(read, unit, path)
    own = [a for a in answers(read, unit, path, pushes=True) if str(a.category) in CATEGORIES]
    injected = [one for one in elsewhere if one.pushed]
    print(f"{unit}, {path} path: {len(elsewhere)} questions to another conversation's memory")
    print(f"with any injection: {100 * len(injected) / len(elsewhere):.1f} %")
    print(_push_figures(own))


def print_table(read: Sequence[Mapping[str, Any]], path: str) -> None:
    """Ours, ours without each signal, and plain baselines, for turns and observations."""
    print(f"{'':34}{'turn R@5/R@10/MRR':>22}{'observation':>22}{'session R@10':>14}")
    for name in BASELINES:
        _row(name, lambda unit, name=name: _baseline(read, unit, name))  # type: ignore[misc]
    _row(f"ours, {path} path", lambda unit: answers(read, unit, path))
    for name, changes in SIGNALS.items():
        with _changed(changes):
            _row(f"  without {name}", lambda unit: answers(read, unit, path), session=False)
    for name, environ in SETTINGS.items():
        _row(
            f"  without {name}",
            lambda unit, environ=environ: answers(read, unit, path, environ=environ),  # type: ignore[misc]
            session=False,
        )


def _row(name: str, ask: Callable[[str], list[Asked]], *, session: bool = True) -> None:
    cells = [f"{name:34}"]
    for unit in conversations.UNITS[: 2 + session]:
        asked = [one for one in ask(unit) if str(one.category) in CATEGORIES]
        r5, r10 = (100 * mean(recall_at(k, a.ranked, a.gold) for a in asked) for k in (5, 10))
        mrr = 100 * mean(reciprocal_rank(a.ranked, a.gold) for a in asked)
        cell = f"{r10:.1f}" if unit == "session" else f"{r5:.1f} / {r10:.1f} / {mrr:.1f}"
        cells.append(f"{cell:>{14 if unit == 'session' else 22}}")
    print("".join(cells), flush=True)


def _baseline(read: Sequence[Mapping[str, Any]], unit: str, name: str) -> list[Asked]:
    found: list[Asked] = []
    for conversation in read:
        with _world(conversation, unit, None) as world:
            ranked = BASELINES[name](world.texts())
            found += [
                Asked(q["id"], q["category"], world.gold(q), ranked(q["question"]), [])
                for q in world.questions()
            ]
    return found


@contextmanager
def _changed(changes: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    before = [(module, name, getattr(module, name)) for module, name, _ in changes]
    for module, name, value in changes:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def _world(conversation: Mapping[str, Any], unit: str, environ: Mapping[str, str] | None) -> Any:
    more = {"MEMORY_FABRIC_MAX_RESULTS": str(SESSION_LIMIT)} if unit == "session" else {}
    return conversations.world(conversation, unit, {**more, **(environ or {})})


def _ask(
    world: conversations.World,
    own: conversations.World | None,
    question: Mapping[str, Any],
    path: str,
    pushes: bool,
) -> Asked:
    fabric = Fabric(world.memory, world.now, _similarity(world, path))
    limit = SESSION_LIMIT if world.unit == "session" else LIMIT
    text = question["question"]
    ranked = world.documents(fabric.recall(text, limit=limit).hits) if own else []
    pushed = world.documents(Fabric(world.memory, world.now).hits_to_inject(text)) if pushes else []
    gold = own.gold(question) if own else set()
    return Asked(question["id"], question["category"], gold, ranked, pushed)


def _similarity(world: conversations.World, path: str) -> Measure | None:
    """What the warm path ranks by as well. Stops the run where the extra is not installed."""
    if path == "hot":
        return None
    measure = measure_for(world.memory.settings)
    if measure is None or not measure.ready():
        raise SystemExit("--path warm needs the extra: pip install memory-fabric[semantic]")
    embed_all(world.memory, measure.model, give_up_s=math.inf)
    return measure


def _figures(asked: Sequence[Asked]) -> str:
    r5, r10, r20 = (100 * mean(recall_at(k, a.ranked, a.gold) for a in asked) for k in (5, 10, 20))
    mrr = 100 * mean(reciprocal_rank(a.ranked, a.gold) for a in asked)
    return f"R@5 {r5:.1f}  R@10 {r10:.1f}  R@20 {r20:.1f}  MRR {mrr:.1f}"


def _push_figures(asked: Sequence[Asked]) -> str:
    pulled = mean(recall_at(PULLED, a.ranked, a.gold) for a in asked)
    pushed = mean(recall_at(len(a.pushed), a.pushed, a.gold) for a in asked)
    share = 100 * pushed / pulled if pulled else 0.0
    return (
        f"push: {100 * mean(bool(a.pushed) for a in asked):.1f} % of questions get "
        f"{mean(len(a.pushed) for a in asked):.2f} memories; they hold {100 * pushed:.1f} % of the "
        f"right ones, {share:.0f} % of what pull finds in its first {PULLED} ({100 * pulled:.1f} %)"
    )


def _write(path: str, asked: Sequence[Asked]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        for one in asked:
            line = {"question": one.question, "ranked": one.ranked, "injected": len(one.pushed)}
            file.write(json.dumps({**line, "pushed": one.pushed}) + "\n")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, metavar="FILE", help="conversations, .json[.gz]")
    parser.add_argument("--unit", choices=conversations.UNITS, default="turn")
    parser.add_argument("--path", choices=("hot", "warm"), default="hot")
    parser.add_argument("--out", metavar="PRED", help="write the predictions here")
    parser.add_argument("--noise", action="store_true", help="ask the memory of another one")
    parser.add_argument("--table", action="store_true", help="with ablations and baselines")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
