#!/usr/bin/env python3
"""The loss where a large store ranks only the rows that hold most of a question.

    python3 benchmarks/pruning.py                          20,000 rows asked as if they were 100,000
    python3 benchmarks/pruning.py --as 1000000             ... as if they were a million
    python3 benchmarks/pruning.py --quorum 6 --spare 8     other settings of store/matching.py

Rows are observations of 6 to 14 words, drawn from a vocabulary in which the n-th word is n times
as rare as the first (Zipf), the same for the same seed. A question takes 2 to 6 words of one row,
its target, one of them from the rarer half of the row; and so many *strange* words that the target
does not hold, as people ask in other words than were written. It is asked of the product's own
recall twice: with every limit of store/matching.py scaled down as the store is beside the large
one, and without pruning. R@10 is the share of targets among the first ten; the loss is the
difference, in points; *overlap* is how much of the first ten without pruning is there with it;
*ranked* is how many rows the index had to rank. Needs Python >= 3.11 and nothing else.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "plugin"))

from memory_fabric.config import read_settings  # noqa: E402
from memory_fabric.models import Provenance  # noqa: E402
from memory_fabric.recall.pipeline import Fabric  # noqa: E402
from memory_fabric.store.memory import Memory  # noqa: E402
from memory_fabric.store.queries import conditions, reader  # noqa: E402
from scoring import mean  # noqa: E402

UNPRUNED = 10**12
FIRST = 10
VOCABULARY = 6_000
WORDS_A_ROW = (6, 14)
WORDS_ASKED = (2, 6)
STRANGE = (0, 1, 2, 4)
ROWS_AN_ENTITY, ENTITIES_A_WRITE = 10, 40
NOW = "2026-03-01T12:00:00.000Z"
BY = Provenance("mcp", "user", at="2026-02-20T10:00:00.000Z")
INDEX = "observations_fts"


class Question(NamedTuple):
    """Words asked, and the text that holds those which are not strange."""

    words: tuple[str, ...]
    target: str


class Figures(NamedTuple):
    """Shares, 0–1, and mean numbers of ranked rows, over the questions of one kind."""

    without: float
    pruned: float
    overlap: float
    ranked_without: float
    ranked_pruned: float
    acted: float

    @property
    def loss(self) -> float:
        """In points: what pruning costs of the right answers."""
        return 100 * (self.without - self.pruned)


def vocabulary() -> list[str]:
    """Made-up words, none a stem of another, the most frequent first."""
    parts = [c + v for c in "bdfgklmnprtvz" for v in "aiou"]
    made = (f"{a}{b}{c}x" for a in parts for b in parts for c in parts)
    words = [word for word, _ in zip(made, range(20 * VOCABULARY), strict=False)]
    random.Random(0).shuffle(words)
    return words[:VOCABULARY]


class Source:
    """Rows and questions, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.words = vocabulary()
        self.rank = {word: place for place, word in enumerate(self.words, 1)}
        self._chance = random.Random(seed)
        self._shares = list(accumulate(1 / place for place in self.rank.values()))

    def row(self) -> tuple[str, ...]:
        """The words of a row, each once."""
        return self._some(self._chance.randint(*WORDS_A_ROW), without=())

    def question(self, row: Sequence[str], strange: int) -> Question:
        """A question that this row answers."""
        rarer = sorted(row, key=self.rank.__getitem__)[len(row) // 2 :]
        first = self._chance.choice(rarer)
        others = [word for word in row if word != first]
        count = self._chance.randint(*WORDS_ASKED) - 1
        held = [first, *self._chance.sample(others, count)]
        asked = [*held, *self._some(strange, without=row)]
        self._chance.shuffle(asked)
        return Question(tuple(asked), " ".join(row))

    def _some(self, count: int, without: Sequence[str]) -> tuple[str, ...]:
        found: dict[str, None] = {}
        while len(found) < count:
            (word,) = self._chance.choices(self.words, cum_weights=self._shares)
            if word not in without:
                found[word] = None
        return tuple(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 0."""
    options = _options(arguments)
    source = Source(options.seed)
    rows = [source.row() for _ in range(options.rows)]
    with memory_of(rows) as memory:
        size = f"{options.rows:,} rows asked as if they were {options.like:,}"
        print(f"{size}; {options.questions} questions each")
        print(
            f"{'strange':>7}{'R@10':>8}{'pruned':>8}{'loss':>7}{'overlap':>9}{'acted':>7}  ranked"
        )
        for strange in STRANGE:
            targets = random.Random(options.seed + strange).sample(rows, options.questions)
            questions = [source.question(row, strange) for row in targets]
            with settings(options):
                found = figures(memory, questions, options.rows / options.like)
                print(line(strange, found), flush=True)
    return 0


def line(strange: int, f: Figures) -> str:
    """One line of the table."""
    return (
        f"{strange:7}{100 * f.without:8.1f}{100 * f.pruned:8.1f}{f.loss:7.1f}"
        f"{100 * f.overlap:8.1f}%{100 * f.acted:6.0f}%  "
        f"{f.ranked_pruned:.0f} of {f.ranked_without:.0f}"
    )


def figures(memory: Memory, questions: Sequence[Question], scale: float) -> Figures:
    """Every question asked with and without pruning."""
    without, pruned, overlap, ranked, acted = [], [], [], [], []
    for question in questions:
        with scaled(scale) as whole:
            first = first_ten(memory, question)
            some = whole.pop()
        with scaled(scale, prunes=False) as whole:
            best = first_ten(memory, question)
            every = whole.pop()
        pruned.append(question.target in first)
        without.append(question.target in best)
        overlap.append(len({*first} & {*best}) / len(best) if best else 1.0)
        ranked.append((matches(memory, some), matches(memory, every)))
        acted.append(some != every)
    return Figures(
        mean(without),
        mean(pruned),
        mean(overlap),
        mean(every for _, every in ranked),
        mean(some for some, _ in ranked),
        mean(acted),
    )


def first_ten(memory: Memory, question: Question) -> list[str]:
    """The texts that the product shows first."""
    answer = Fabric(memory, NOW).recall(" ".join(question.words), limit=FIRST)
    if answer.failures:
        raise SystemExit(f"the memory failed: {answer.failures}")
    return [hit.text for hit in answer.hits]


def matches(memory: Memory, asked: str) -> int:
    """Return the number of rows that an expression matches."""
    (database,) = memory.databases()
    found = database.row(f"SELECT count(*) FROM {INDEX} WHERE {INDEX} MATCH ?", (asked,))
    return int(found[0]) if found else 0


@contextmanager
def scaled(scale: float, *, prunes: bool = True) -> Iterator[list[str]]:
    """The limits of matching as a large store has them, in one that is `scale` as large; gives
    the expressions that the observations were asked for.
    """
    asked: list[str] = []
    tell = conditions.selective_query

    def selective_query(db: Any, index: str, groups: Any, limit: int, phrases: Any = ()) -> str:
        found = tell(db, index, groups, max(1, round(limit * scale)), phrases)
        if index == INDEX:
            asked.append(found)
        return found

    changes: dict[str, int] = {
        name: max(1, round(getattr(conditions, name) * scale))
        for name in ("COMMON_FROM_ROWS", "RANKED_ROWS", "COUNTED_ROWS", "SAMPLED_ROWS")
    }
    if not prunes:
        changes["RANKED_ROWS"] = UNPRUNED
    with changed(conditions, **changes), changed(reader, selective_query=selective_query):
        yield asked


@contextmanager
def changed(module: Any, **values: int | Callable[..., Any]) -> Iterator[None]:
    """The module's values for a while."""
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


@contextmanager
def settings(options: argparse.Namespace) -> Iterator[None]:
    """Apply the settings of matching that the options state."""
    with changed(
        conditions,
        SPARE=options.spare,
        MAX_IN_QUORUM=options.quorum,
        RANKED_ROWS=options.ranked,
    ):
        yield


@contextmanager
def memory_of(rows: Sequence[Sequence[str]]) -> Iterator[Memory]:
    """A fresh memory with these rows; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        for name in ("home", "project"):
            os.makedirs(os.path.join(folder, name))
        memory = Memory.open(
            read_settings(
                {
                    "HOME": os.path.join(folder, "home"),
                    "MEMORY_FABRIC_HOME": os.path.join(folder, "home", "memory"),
                    "CLAUDE_PROJECT_DIR": os.path.join(folder, "project"),
                    "MEMORY_FABRIC_DEDUP_THRESHOLD": "1",
                },
                {},
            )
        )
        try:
            _fill(memory, rows)
            yield memory
        finally:
            memory.close()


def _fill(memory: Memory, rows: Sequence[Sequence[str]]) -> None:
    entities = [
        {
            "name": f"thing {start // ROWS_AN_ENTITY}",
            "entityType": "component",
            "observations": [" ".join(row) for row in rows[start : start + ROWS_AN_ENTITY]],
        }
        for start in range(0, len(rows), ROWS_AN_ENTITY)
    ]
    for start in range(0, len(entities), ENTITIES_A_WRITE):
        batch = {"entities": entities[start : start + ENTITIES_A_WRITE]}
        if memory.write("create_entities", batch, BY).get("queued"):
            raise SystemExit("the memory could not be built")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000, help="observations (20,000)")
    parser.add_argument("--as", dest="like", type=int, default=100_000, help="rows (100,000)")
    parser.add_argument("--questions", type=int, default=300, help="of each kind (300)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--spare", type=int, default=conditions.SPARE)
    parser.add_argument("--quorum", type=int, default=conditions.MAX_IN_QUORUM)
    parser.add_argument("--ranked", type=int, default=conditions.RANKED_ROWS)
    options = parser.parse_args(arguments)
    if not 0 < options.questions <= options.rows:
        parser.error("as many rows as questions are needed, and one of each")
    if options.like < options.rows:
        parser.error("--as is the larger store: at least as many rows as --rows")
    return options


if __name__ == "__main__":
    sys.exit(main())
