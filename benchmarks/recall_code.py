"""The memories found for questions of programming life: by recall, and by prompts.

    python3 benchmarks/recall_code.py                       both halves of the set, the product
    python3 benchmarks/recall_code.py --split tune --out F  also what was found for each question
    python3 benchmarks/recall_code.py --baseline fts5       a plain ranker over the same texts
    python3 benchmarks/recall_code.py --path warm           with embeddings: pip install .[semantic]
    python3 benchmarks/recall_code.py --json

Pull is `recall` with ten results: R@k is the share of answerable questions whose answer stands
among the first k, MRR the mean of 1/place. Push is what a prompt injects unasked: `gold` the share
of answerable questions whose answer was injected, `trap` the share of questions with a trap where
the trap was injected before the answer or without it, `noise` the share of unanswerable questions
that injected anything, `chars` the mean length of what was injected.

The set (recall_code.jsonl, described in recall_set.py) was written before any tuning on it; its
half `held` is reported only, so what was found for its questions is never written to a file. Needs
Python >= 3.11 and nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from baselines import BASELINES
from recall_rankers import LIMIT, Plain, Product, Push, Ranker
from workloads import recall_set

DEPTHS = (1, 3, LIMIT)
PATHS = ("hot", "warm")


class Found(NamedTuple):
    """The result of one question."""

    question: recall_set.Question
    pulled: tuple[str, ...]
    pushed: Push

    @property
    def place(self) -> int:
        """The rank of the answer among what was pulled, from 1; 0 if it is not there."""
        return _place(self.pulled, self.question.gold)

    @property
    def is_given(self) -> bool:
        """True if the answer was injected."""
        return _place(self.pushed.ids, self.question.gold) > 0

    @property
    def is_trapped(self) -> bool:
        """True if a trap was injected and the answer was not before it."""
        gold = _place(self.pushed.ids, self.question.gold)
        trap = _place(self.pushed.ids, self.question.trap)
        return trap > 0 and not 0 < gold < trap


class Row(NamedTuple):
    """A line of the table; shares from 0 to 1, None where no question of the row can tell."""

    row: str
    questions: int
    r1: float | None
    r3: float | None
    r10: float | None
    mrr: float | None
    gold: float | None
    trap: float | None
    noise: float | None
    chars: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, or the report as JSON; 0."""
    options = _options(arguments)
    known = recall_set.read()
    unknown = set(options.projects) - set(known.projects)
    if unknown:
        raise SystemExit(f"no such project: {', '.join(sorted(unknown))}")
    began = time.perf_counter()
    found = ask(known, known.asked(options.split, options.projects), options.baseline, options.path)
    seconds = time.perf_counter() - began
    splits = recall_set.SPLITS if options.split == "all" else (options.split,)
    tables = {split: rows([f for f in found if f.question.split == split]) for split in splits}
    report = _report(tables, options, seconds)
    if options.out:
        _write(options.out, {**report, "questions": _told(found)})
    if options.json:
        print(json.dumps(report, indent=1))
        return 0
    for split, table in tables.items():
        print_table(table, f"{options.baseline or 'memory-fabric, ' + options.path}, {split}")
    return 0


def ask(
    known: recall_set.Set,
    questions: Sequence[recall_set.Question],
    baseline: str = "",
    path: str = "hot",
) -> list[Found]:
    """Every question put to a ranker that knows its project alone, each project in a new home."""
    found = []
    for project in known.projects:
        asked = [question for question in questions if question.project == project]
        if not asked:
            continue
        with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
            ranker = _ranker(known, project, folder, baseline, path)
            try:
                for question in asked:
                    pulled = tuple(ranker.pull(question.text))
                    found.append(Found(question, pulled, ranker.push(question.text)))
            finally:
                ranker.close()
    return found


def rows(found: Sequence[Found]) -> list[Row]:
    """A row for each kind that was asked, then one for all."""
    kinds = [(kind, [f for f in found if f.question.kind == kind]) for kind in recall_set.KINDS]
    return [_row(name, part) for name, part in (*kinds, ("all", list(found))) if part]


def print_table(table: Sequence[Row], title: str) -> None:
    """One Markdown table; shares in percent, MRR as it is."""
    print(f"\n{title}: {table[-1].questions if table else 0} questions\n")
    print("| | n | R@1 | R@3 | R@10 | MRR | push: gold | trap | noise | chars |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in table:
        mrr = "–" if row.mrr is None else f"{row.mrr:.3f}"
        shares = [_percent(share) for share in (row.r1, row.r3, row.r10)]
        pushed = [_percent(share) for share in (row.gold, row.trap, row.noise)]
        cells = [row.row, str(row.questions), *shares, mrr, *pushed, f"{row.chars:.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def _ranker(known: recall_set.Set, project: str, folder: str, baseline: str, path: str) -> Ranker:
    memories = known.of(project)
    if baseline:
        return Plain(memories, baseline)
    return Product(memories, folder, known.now, path)


def _row(name: str, found: Sequence[Found]) -> Row:
    answerable = [f for f in found if f.question.gold]
    trapped = [f for f in found if f.question.trap]
    unanswerable = [f for f in found if not f.question.gold]
    r1, r3, r10 = (_share(answerable, partial(_is_within, depth)) for depth in DEPTHS)
    return Row(
        row=name,
        questions=len(found),
        r1=r1,
        r3=r3,
        r10=r10,
        mrr=_share(answerable, lambda f: 1 / f.place if f.place else 0.0),
        gold=_share(answerable, lambda f: f.is_given),
        trap=_share(trapped, lambda f: f.is_trapped),
        noise=_share(unanswerable, lambda f: bool(f.pushed.ids)),
        chars=sum(f.pushed.chars for f in found) / len(found),
    )


def _share(found: Sequence[Found], points: Callable[[Found], float]) -> float | None:
    return sum(map(points, found)) / len(found) if found else None


def _is_within(depth: int, found: Found) -> bool:
    return 0 < found.place <= depth


def _place(ids: Sequence[str], wanted: Sequence[str]) -> int:
    return next((number for number, id_ in enumerate(ids, 1) if id_ in wanted), 0)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def _report(
    tables: dict[str, list[Row]], options: argparse.Namespace, seconds: float
) -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%d"),
        "ranker": options.baseline or "memory-fabric",
        "path": options.path,
        "seconds": round(seconds, 2),
        "splits": {split: [row._asdict() for row in table] for split, table in tables.items()},
    }


def _told(found: Sequence[Found]) -> list[dict[str, Any]]:
    """Return what was found for each question that may be looked at."""
    return [
        {
            **f.question._asdict(),
            "place": f.place,
            "pulled": f.pulled,
            "pushed": f.pushed.ids,
            "chars": f.pushed.chars,
        }
        for f in found
        if f.question.split == "tune"
    ]


def _write(path: str, report: dict[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1, ensure_ascii=False)
        file.write("\n")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", choices=(*recall_set.SPLITS, "all"), default="all")
    parser.add_argument("--path", choices=PATHS, default="hot")
    parser.add_argument("--baseline", choices=sorted(BASELINES), default="")
    parser.add_argument("--projects", nargs="+", default=[], help="only these projects")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=os.path.abspath, help="the report, and the half to tune on")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
