"""Long messages: what recall finds for them, what prompts are told, and what they cost.

    python3 benchmarks/long_messages.py                     everything, this checkout
    python3 benchmarks/long_messages.py --plugin ../other/plugin     another checkout's product
    python3 benchmarks/long_messages.py --store FOLDER      the cost in a store of open_memory.py

*Messages* are some 150 words of small talk with one sentence about a record among several hundred
(`workloads.long_message_set`): R@1/R@5 of recall and, beside it, of FTS5 with English stems or of
bigrams of Chinese characters, any of the words by bm25. *Requests* are told something alone; told
again are those that are told the same record behind, between or before three sentences about
something else. *Errors* are pasted with 260, 500 and 1,000 characters, in lines and as one line:
how many have their fix first in recall, how many prompts are told it, and how many of those whose
fix is not on record are told anything. *Cost* is the processor time of a long prompt or question
over that of a short one, medians of the same run. Needs Python >= 3.11 and nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from baselines import FullText
from processes import quantile
from workloads import long_message_set as long_set

if TYPE_CHECKING:
    from memory_fabric.store.memory import Memory

PLUGIN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "plugin")
NOW = "2031-03-01T12:00:00.000Z"
SAID_AT = "2031-02-20T10:00:00.000Z"
LIMIT = 5
ENGLISH, CHINESE = 80, 60
PASTE_CHARS = (260, 500, 1_000)
# Characters of the messages whose cost is compared with that of short ones.
COST_CHARS, COST_RUNS = (600, 2_000, 8_000, 60_000), 40


class Ranks(NamedTuple):
    """Shares of messages whose record stands first, and among the first five."""

    first: float
    five: float

    def __str__(self) -> str:
        return f"{100 * self.first:.0f}/{100 * self.five:.0f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 0."""
    options = _options(arguments)
    sys.path.insert(0, options.plugin)
    if options.store:
        _print_cost(options.store)
        return 0
    print("| messages, R@1/R@5 | memory-fabric | plain full text |\n|---|---|---|")
    english, chinese = (
        long_set.english(ENGLISH, options.seed),
        long_set.chinese(CHINESE, options.seed),
    )
    for name, (records, messages), form in (
        (f"English ({ENGLISH}), FTS5 with stems", english, str),
        (f"Chinese ({CHINESE}), bigrams", chinese, _pairs),
    ):
        with memory_of(records) as memory:
            ours = ranks(messages, partial(_recalled, memory))
        index = FullText("porter unicode61")
        index.add([(record, form(record)) for record in records])
        plain = [index.ranked(form(message.text)) for message in messages]
        print(f"| {name} | {ours} | {ranked(messages, plain)} |", flush=True)
    alone, behind = requests(options.seed)
    print(f"\nrequests told alone: {alone} of {len(long_set.REQUESTS)}; told again: {behind}")
    print("\n| errors | recall, first | told | told another |\n|---|---|---|---|")
    for cells in errors(options.seed):
        print(f"| {' | '.join(cells)} |", flush=True)
    return 0


def ranks(messages: Sequence[long_set.Message], ask: Callable[[str], Sequence[str]]) -> Ranks:
    """Return where a ranker has the records of the messages."""
    return ranked(messages, [ask(message.text) for message in messages])


def ranked(messages: Sequence[long_set.Message], answers: Sequence[Sequence[str]]) -> Ranks:
    """Return where the records of the messages stand in these answers."""
    places = []
    for message, answer in zip(messages, answers, strict=True):
        first = list(answer)[:LIMIT]
        places.append(first.index(message.record) if message.record in first else LIMIT)
    return Ranks(
        sum(place == 0 for place in places) / len(places),
        sum(place < LIMIT for place in places) / len(places),
    )


def requests(seed: int) -> tuple[int, int]:
    """Return how many requests are told their record alone, and how many of these in context."""
    records = [request.record for request in long_set.REQUESTS]
    with memory_of([*records, *long_set.english(1, seed)[0]]) as memory:
        alone = [
            (number, request)
            for number, request in enumerate(long_set.REQUESTS)
            if request.record in _told(memory, request.text)
        ]
        again = [
            request.record in _told(memory, long_set.behind_context(request, number))
            for number, request in alone
        ]
    return len(alone), sum(again)


def errors(seed: int) -> Iterator[tuple[str, str, str, str]]:
    """Yield for each form of a paste how many have their fix first in recall, and are told it; and
    of those whose fix is not on record, how many are told anything.
    """
    records = long_set.english(1, seed)[0]
    fixes = [failure.fix for failure in long_set.ERRORS]
    with memory_of(records, fixes) as memory, memory_of(records, fixes[::2]) as half:
        for chars in PASTE_CHARS:
            for lines in (True, False):
                pastes = [
                    (long_set.pasted(failure, chars, number, lines=lines), failure.fix)
                    for number, failure in enumerate(long_set.ERRORS)
                ]
                first = sum(_recalled(memory, text)[:1] == [fix] for text, fix in pastes)
                told = sum(fix in _told(memory, text) for text, fix in pastes)
                others = sum(bool(_told(half, text)) for text, _ in pastes[1::2])
                label = f"{chars} characters, {'lines' if lines else 'one line'}"
                every, without = len(pastes), len(pastes[1::2])
                yield (
                    label,
                    f"{first} of {every}",
                    f"{told} of {every}",
                    f"{others} of {without}",
                )


def _print_cost(folder: str) -> None:
    from memory_fabric.store.home.switches import settings_of
    from memory_fabric.store.memory import Memory
    from workloads.hooks_store import environ_of

    memory = Memory.open(settings_of(environ_of(folder)))
    short = [_cost_message(number, 100) for number in range(COST_RUNS)]
    print("| characters | prompt, ms | ratio | recall, ms | ratio |\n|---|---|---|---|---|")
    base: list[float] = []
    for chars in (100, *COST_CHARS):
        texts = short if chars == 100 else [_cost_message(n, chars) for n in range(COST_RUNS)]
        times = [
            quantile([_cpu_ms(ask, memory, text) for text in texts], 0.5)
            for ask in (_told, _recalled)
        ]
        base = base or times
        cells = " | ".join(
            f"{ms:.1f} | {ms / first:.2f}" for ms, first in zip(times, base, strict=True)
        )
        print(f"| {chars:,} | {cells} |", flush=True)
    memory.close()


def _cost_message(number: int, chars: int) -> str:
    """Return sentences about the store's subjects and others, of about so many characters."""
    import random

    from workloads.hooks_store import SUBJECTS, THINGS

    chance = random.Random(f"cost {number}")
    asked = f"How does the {chance.choice(SUBJECTS)} service handle {chance.choice(THINGS)} for us?"
    parts = [asked]
    pool = [*long_set.SMALL_TALK, *long_set.CONTEXTS, *long_set.ASIDES]
    while sum(map(len, parts)) < chars:
        part = chance.choice(long_set.PARTS)
        text = chance.choice(pool).format(other=part[0], purpose=part[1], nick=part[2])
        more = chance.choice(long_set.ASPECTS)[0].format(part=part[0], purpose=part[1], n=number)
        parts.insert(0, f"{text} {more} since {chance.choice(SUBJECTS)} {chance.randrange(9999)}.")
    return " ".join(parts)[-max(chars, len(asked)) :]


def _cpu_ms(ask: Callable[[Memory, str], object], memory: Memory, text: str) -> float:
    began = time.process_time()
    ask(memory, text)
    return 1000 * (time.process_time() - began)


def _recalled(memory: Memory, text: str) -> list[str]:
    from memory_fabric.recall.pipeline import Fabric

    return [hit.text for hit in Fabric(memory, NOW).recall(text, limit=LIMIT).hits]


def _told(memory: Memory, text: str) -> str:
    from memory_fabric.recall.pipeline import Fabric

    return Fabric(memory, NOW).inject_for_prompt(text).text


def _pairs(text: str) -> str:
    """Return the pairs of neighbouring characters as words of Latin letters."""
    said = "".join(char for char in text if char.isalnum())
    return " ".join(f"{ord(a):x}z{ord(b):x}" for a, b in pairwise(said))


@contextmanager
def memory_of(records: Sequence[str], fixes: Sequence[str] = ()) -> Iterator[Memory]:
    """A fresh memory with these records; gone afterwards."""
    from memory_fabric.config import read_settings
    from memory_fabric.models import Provenance, Record
    from memory_fabric.store.memory import Memory

    by = Provenance("cli", trust="user", at=SAID_AT)
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        places = {
            "HOME": "user",
            "MEMORY_FABRIC_HOME": "home",
            "CLAUDE_PLUGIN_DATA": "data",
            "CLAUDE_PROJECT_DIR": "project",
        }
        environ = {name: os.path.join(folder, place) for name, place in places.items()}
        for path in environ.values():
            os.makedirs(path)
        memory = Memory.open(read_settings(environ, {}))
        for kind, texts in (("decision", records), ("solution", fixes)):
            for text in texts:
                memory.remember(Record(kind, text, confidence=0.7), by)
        try:
            yield memory
        finally:
            memory.close()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plugin", default=PLUGIN, help="the folder of memory_fabric")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", default="", help="measure the cost in this store only")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
