#!/usr/bin/env python3
"""Recall of what a question needs, in long conversations of two people or with an assistant.

    python benchmarks/locomo.py --data FILE [--unit turn] [--path hot] [--out PRED.jsonl]
    python benchmarks/locomo.py --data FILE --noise
    python benchmarks/locomo.py --data FILE --table

FILE holds conversations (see conversations.py); each is written into a fresh memory of its own
through the product's write function (turns as episodes, observations as observations) and asked
its questions through the product's recall. Where a question says in which session it was asked, the
memory grows in the order of time and holds only the sessions before that one. Plain full-text
search over the same texts stands beside it. PRED.jsonl gets a line a question: {"question",
"ranked": ids best first, "injected": how many the prompt hook would inject, "pushed": their ids}.

--path hot is what hooks use, the standard library alone; warm is what the server and the command
line use, with embeddings where the extra is installed. --noise asks each conversation's questions
against another one's memory, where every injection is noise, and reports beside it what the prompt
hook injects on the own memory. --table prints ours, ours without each signal, and plain baselines.
--sample 5 asks only every fifth question, --limit 1 reads only the first conversation.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import conversations
from baselines import BASELINES, FullText
from memory_fabric.recall import rank, relevance
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.semantic.measure import Measure, measure_for
from scoring import interval, mean, recall_at, reciprocal_rank

LIMIT = 20
# Sessions are ranked by their best turn, so that more turns are needed than are shown.
SESSION_LIMIT = 200
# Questions of this LoCoMo category have no answer: their evidence is that of another question.
ADVERSARIAL = "adversarial"
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
    """One question with what came back: ids of pull best first, ids that push would inject.

    `plain` holds the ranking of each plain ranker by name.
    """

    question: str
    category: str
    gold: set[str]
    ranked: list[str]
    pushed: list[str]
    has_evidence: bool = True
    plain: Mapping[str, list[str]] = {}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the requested figures; return 0."""
    options = _options(arguments)
    read = conversations.read(options.data).sampled(options.sample)
    read = read._replace(conversations=read.conversations[: options.limit])
    if options.table:
        print_table(read, options.path)
        return 0
    if options.noise:
        print_noise(read, options.unit, options.path)
        return 0
    began = time.monotonic()
    asked = answers(read, options.unit, options.path, pushes=True)
    if options.out:
        _write(options.out, asked)
    print_figures(options.unit, options.path, asked)
    print(f"{time.monotonic() - began:.0f} s")
    return 0


def answers(
    read: conversations.File,
    unit: str,
    path: str,
    *,
    pushes: bool = False,
    environ: Mapping[str, str] | None = None,
) -> list[Asked]:
    """Ask every question of every conversation of its own memory, in the order of time."""
    found: list[Asked] = []
    for conversation in read.conversations:
        plain = PlainRankers(unit, conversation["speakers"])
        with _world(conversation, unit, environ) as world:
            for question in world.questions():
                plain.add(world, world.grow(question))
                asked = _ask(world, world, question, path, pushes)
                name = read.categories.get(question["category"], str(question["category"]))
                beside = plain.ranked(question["question"]) if pushes else {}
                found.append(asked._replace(category=name, plain=beside))
    return found


class PlainRankers:
    """Full-text search with stems over the same texts: all, the user's alone, whole sessions."""

    def __init__(self, unit: str, speakers: Sequence[str]) -> None:
        self.is_sessions = unit == "session"
        self.user = speakers[0] if speakers[0] in conversations.ROLES else ""
        self.all, self.of_user, self.sessions = FullText(), FullText(), FullText()

    def add(self, world: conversations.World, sessions: Sequence[str]) -> None:
        """Index what the world wrote for these sessions."""
        self.all.add(world.texts(sessions))
        if self.user:
            self.of_user.add(world.texts(sessions, self.user))
        if self.is_sessions:
            for session in sessions:
                whole = "\n".join(text for _, text in world.texts([session]))
                self.sessions.add([(session, whole)])

    def ranked(self, question: str) -> dict[str, list[str]]:
        """Return the ranking of each for a question."""
        limit = SESSION_LIMIT if self.is_sessions else LIMIT
        found = {"FTS5, all texts": self.all.ranked(question, limit)}
        if self.user:
            found["FTS5, the user's turns"] = self.of_user.ranked(question, limit)
        if self.is_sessions:
            found["FTS5, whole sessions"] = self.sessions.ranked(question, limit)
        return found


def strangers(read: conversations.File, unit: str, path: str) -> list[Asked]:
    """Ask every question of every conversation of the memory of the next one."""
    found: list[Asked] = []
    whole = read.conversations
    for own, other in zip(whole, [*whole[1:], whole[0]], strict=True):
        with _world(other, unit, None) as world:
            world.fill()
            asked = [q for q in own["questions"] if q["evidence"]]
            found += [_ask(world, None, question, path, pushes=True) for question in asked]
    return found


def print_figures(unit: str, path: str, asked: Sequence[Asked]) -> None:
    """Print the figures of one unit: all, by category, the plain rankers, and the injections."""
    scored = _scored(asked)
    print(f"{unit}, {path} path: {len(scored)} questions")
    low, high = interval([recall_at(10, one.ranked, one.gold) for one in scored])
    print(f"{_figures(scored)}  R@10 95 % [{100 * low:.1f}, {100 * high:.1f}]")
    for category in dict.fromkeys(sorted(one.category for one in scored)):
        some = [one for one in scored if one.category == category]
        print(f"  {category} ({len(some)}): {_figures(some)}")
    for name in scored[0].plain if scored else ():
        print(f"{name}: {_figures([one._replace(ranked=one.plain[name]) for one in scored])}")
    print(_push_figures(scored))
    unanswerable = [one for one in asked if not one.has_evidence]
    if unanswerable:
        silent = 100 * mean(not one.pushed for one in unanswerable)
        print(f"without evidence ({len(unanswerable)}): nothing is injected for {silent:.1f} %")


def _scored(asked: Sequence[Asked]) -> list[Asked]:
    """Return the questions that have an answer in the memory."""
    return [one for one in asked if one.has_evidence and one.category != ADVERSARIAL]


def print_noise(read: conversations.File, unit: str, path: str) -> None:
    """Print what push injects where nothing is right, and where something is."""
    elsewhere = strangers(read, unit, path)
    own = _scored(answers(read, unit, path, pushes=True))
    injected = [one for one in elsewhere if one.pushed]
    print(f"{unit}, {path} path: {len(elsewhere)} questions to another conversation's memory")
    print(f"with any injection: {100 * len(injected) / len(elsewhere):.1f} %")
    print(_push_figures(own))


def print_table(read: conversations.File, path: str) -> None:
    """Print ours, ours without each signal, and plain baselines, for turns and observations."""
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
        asked = _scored(ask(unit))
        r5, r10 = (100 * mean(recall_at(k, a.ranked, a.gold) for a in asked) for k in (5, 10))
        mrr = 100 * mean(reciprocal_rank(a.ranked, a.gold) for a in asked)
        cell = f"{r10:.1f}" if unit == "session" else f"{r5:.1f} / {r10:.1f} / {mrr:.1f}"
        cells.append(f"{cell:>{14 if unit == 'session' else 22}}")
    print("".join(cells), flush=True)


def _baseline(read: conversations.File, unit: str, name: str) -> list[Asked]:
    found: list[Asked] = []
    for conversation in read.conversations:
        with _world(conversation, unit, None) as world:
            world.fill()
            ranked = BASELINES[name](world.texts())
            for q in world.questions():
                category = read.categories.get(q["category"], "")
                one = Asked(q["id"], category, world.gold(q), ranked(q["question"]), [])
                found.append(one._replace(has_evidence=bool(q["evidence"])))
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
    now = world.now(question)
    fabric = Fabric(world.memory, now, _similarity(world, path))
    limit = SESSION_LIMIT if world.unit == "session" else LIMIT
    text = question["question"]
    ranked = world.documents(fabric.recall(text, limit=limit).hits) if own else []
    pushed = world.documents(Fabric(world.memory, now).hits_to_inject(text)) if pushes else []
    gold = own.gold(question) if own else set()
    return Asked(question["id"], "", gold, ranked, pushed, bool(question["evidence"]))


def _similarity(world: conversations.World, path: str) -> Measure | None:
    """Return the similarity that the warm path also ranks by. Stops the run without the extra."""
    if path == "hot":
        return None
    measure = measure_for(world.memory.settings)
    if measure is None or not measure.ready():
        raise SystemExit("--path warm needs the extra: pip install '.[semantic]'")
    from memory_fabric.semantic.vectors import embed_all  # numpy, which the hot path does without

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
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N conversations")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every Nth question")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
