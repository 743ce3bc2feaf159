"""The figures of `worth` for real sessions that had no memory: their floor.

    python3 benchmarks/worth_check.py --data FILE

FILE is a file of histories as benchmarks/histories.py reads it. Nothing was told in them, so that
whatever counts as followed did so for another reason.

- *held*: rules as benchmarks/bound_rules.py has them, kept notes with `When:` and general ones. n
  is the pairs of rule and session in which a call is meant, k those in which no further one is: had
  the rule held the first one back, it would count as followed.
- *decisions*: the decisions of the notes in benchmarks/histories, in every later session of their
  project. n is the pairs of decision and session, k those with an answer that names the decision;
  these are printed.

Needs Python >= 3.11 and nothing else.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "plugin"), str(HERE)]

from bound_rules import Call, calls_of, general, held_back, noted  # noqa: E402
from memory_fabric.capture.notes.grammar import parse  # noqa: E402
from memory_fabric.hooks.session import outcomes  # noqa: E402
from memory_fabric.models import Record  # noqa: E402
from memory_fabric.rules.matching import BoundRule  # noqa: E402

NOTES = ("notes.jsonl", "held-notes.jsonl")
# No answer holds it, so that only words count.
NO_ID = "no id"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the floors, and the answers that name a decision."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="a gzipped file of histories")
    options = parser.parse_args(arguments)
    calls = list(calls_of(options.data))
    for title, rules in (("kept notes", noted()), ("general rules", general(calls))):
        print(f"held, {title}: no further call in {_share(*not_repeated(rules, calls))}")
    with gzip.open(options.data, "rt", encoding="utf-8") as file:
        pairs = list(decisions_in(map(json.loads, file)))
    named = [(text, answer) for text, answer in pairs if answer]
    print(f"decisions: named in {_share(len(named), len(pairs))}")
    for text, answer in named:
        print(f"  {text}\n    {answer}")
    return 0


def not_repeated(rules: dict[str, list[BoundRule]], calls: Sequence[Call]) -> tuple[int, int]:
    """Return the pairs of rule and session with one call that is meant, and those with any."""
    meant = Counter(
        (one.call.project, one.call.session, id(one.rule)) for one in held_back(rules, calls)
    )
    return sum(count == 1 for count in meant.values()), len(meant)


def decisions_in(sessions: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each noted decision with the line that names it, '' for none, for each later session
    of its project.
    """
    decisions, when = _decisions(), {}
    for session in sorted(sessions, key=lambda session: session["when"]):
        project, at = session["project"], session["when"]
        when[project, session["path"]] = at
        for path, text in decisions.get(project, ()):
            if when.get((project, path), at) < at:
                yield text, _naming(session, text)


def _naming(session: dict[str, Any], text: str) -> str:
    decision = Record("decision", text, id=NO_ID)
    for turn in session["turns"]:
        texts = [block["text"] for block in turn["blocks"] if block["type"] == "text"]
        said = outcomes.sentences_of("\n".join(texts))
        if line := outcomes.naming(decision, said, outcomes.stems_of(turn["prompt"])):
            return line
    return ""


def _decisions() -> dict[str, list[tuple[str, str]]]:
    """Return by project the path and text of each noted decision."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name in NOTES:
        for line in (HERE / "histories" / name).read_text("utf-8").splitlines():
            entry = json.loads(line)
            for note in parse("\n".join(entry["lines"])).notes:
                if note.kind == "decision":
                    found.setdefault(entry["project"], []).append((entry["path"], note.text))
    return found


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({part / whole:.1%})" if whole else "")


if __name__ == "__main__":
    sys.exit(main())
