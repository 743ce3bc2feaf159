"""What redaction finds, and what it takes for a secret that is none.

    python3 benchmarks/redaction.py                  detection and false alarms, by kind
    python3 benchmarks/redaction.py --with PYTHON    beside detect-secrets, of that interpreter
    python3 benchmarks/redaction.py --check          fails below the floors of the held half

Everything is made at run time from a fixed seed. `tune` are the surroundings, names and written
forms that the rules were made with, `held` others, with other values. A credential counts as found
when no eight characters of it that follow one another are left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plugin"))

from credentials import AROUND, NAMES, SHAPES, VALUES, WRITTEN, WRITTEN_HELD, Planted
from lookalikes import HARMLESS
from memory_fabric.redact import redact

SPLITS = ("tune", "held")
SEEDS = {"tune": 11, "held": 47}
MAX_LEFT = 7
# Floors of the held half for --check: the share found, and of harmless texts that were changed.
LEAST_FOUND, MOST_ALARMS = 0.96, 0.01
# What detect-secrets marks in each text: as a file with its default settings, or as a string, which
# takes every word for a possible secret.
THEIRS = """
import json, os, sys, tempfile
from detect_secrets.core.scan import scan_file, scan_line
from detect_secrets.settings import default_settings
folder = tempfile.mkdtemp()
path = os.path.join(folder, "text.txt")
for line in sys.stdin:
    text = json.loads(line)
    with default_settings():
        if sys.argv[1] == "strings":
            found = {s.secret_value for part in text.split("\\n") for s in scan_line(part)}
        else:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
            found = {s.secret_value for s in scan_file(path)}
    print(json.dumps(sorted(x for x in found if x)))
"""


# What is printed, and the share that needs no line of its own.
TABLES = (("by group", 1), ("by surrounding", 1), ("by kind", 1), ("alarms by kind", 0))


class Case(NamedTuple):
    """A text with a credential in it: what kind, where, and what must be gone."""

    group: str
    kind: str
    around: str
    core: str
    text: str


class Share(NamedTuple):
    """So many of so many."""

    hits: int
    of: int

    def __str__(self) -> str:
        return f"{100 * self.hits / self.of:.0f} % of {self.of}" if self.of else "—"


def cases(split: str, each: int) -> Iterable[Case]:
    """Every kind in every surrounding, `each` times."""
    chance = random.Random(SEEDS[split])
    for kind, make in SHAPES.items():
        for around, template in AROUND[split].items():
            for _ in range(each):
                yield _case("shape", kind, around, template, make(chance), "reference")
    for kind, make in VALUES.items():
        for around, template in AROUND[split].items():
            if around == "prose":
                continue  # without a name nothing tells it from any other word
            for name in NAMES[split]:
                for _ in range(each):
                    yield _case("named", kind, around, template, make(chance), name)
    for kind, make in (WRITTEN if split == "tune" else WRITTEN_HELD).items():
        for template in ("{}", "Run this:\n{}\nThen go on.", "    {}"):
            for _ in range(each):
                planted = make(chance)
                yield Case("written", kind, "as it is", planted.core, _filled(template, planted))


def harmless(split: str, each: int) -> Iterable[tuple[str, str]]:
    """(kind, text) without any secret, `each` of every kind."""
    chance = random.Random(SEEDS[split])
    return [(kind, make(chance)) for kind, make in HARMLESS.items() for _ in range(each)]


def is_found(case: Case, cleaned: str) -> bool:
    """Whether nothing of the credential is left that would help a thief."""
    size = min(MAX_LEFT + 1, len(case.core))
    return not any(case.core[i : i + size] in cleaned for i in range(len(case.core) - size + 1))


def ours(texts: Sequence[str]) -> list[str]:
    """The texts as they would be stored."""
    return [redact(text) for text in texts]


def theirs(python: str, mode: str) -> Callable[[Sequence[str]], list[str]]:
    """The same by detect-secrets: what it marks is cut out."""

    def clean(texts: Sequence[str]) -> list[str]:
        done = subprocess.run(
            [python, "-c", THEIRS, mode],
            input="\n".join(json.dumps(text) for text in texts),
            capture_output=True,
            text=True,
            check=True,
        )
        marked = [json.loads(line) for line in done.stdout.splitlines()]
        cleaned = []
        for text, secrets in zip(texts, marked, strict=True):
            for secret in sorted(secrets, key=len, reverse=True):
                text = text.replace(secret, "[secret]")
            cleaned.append(text)
        return cleaned

    return clean


def measured(clean: Callable[[Sequence[str]], list[str]], split: str, each: int) -> dict[str, Any]:
    """Shares of found credentials and of changed harmless texts, by kind; seconds a megabyte."""
    planted, plain = list(cases(split, each)), list(harmless(split, each))
    began = time.perf_counter()
    cleaned = clean([case.text for case in planted])
    left = clean([text for _, text in plain])
    took_s = time.perf_counter() - began
    found = [is_found(case, text) for case, text in zip(planted, cleaned, strict=True)]
    alarms = [text != after for (_, text), after in zip(plain, left, strict=True)]
    size = sum(len(case.text) for case in planted) + sum(len(text) for _, text in plain)
    return {
        "split": split,
        "found": Share(sum(found), len(found)),
        "by group": _shares(((case.group for case in planted)), found),
        "by kind": _shares((f"{case.group}: {case.kind}" for case in planted), found),
        "by surrounding": _shares((case.around for case in planted), found),
        "alarms": Share(sum(alarms), len(alarms)),
        "alarms by kind": _shares((kind for kind, _ in plain), alarms),
        "s per MB": took_s * 1e6 / size,
        "missed": [case for case, hit in zip(planted, found, strict=True) if not hit],
        "alarmed": [
            (text, after) for ((_, text), after) in zip(plain, left, strict=True) if text != after
        ],
    }


def main() -> int:
    """Print the tables; 1 when --check finds a floor missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--each", type=int, default=5, help="texts of a kind in a surrounding")
    parser.add_argument("--with", dest="python", default="", help="a Python with detect-secrets")
    parser.add_argument("--split", choices=SPLITS, help="only one half")
    parser.add_argument("--examples", type=int, default=0, help="show so many misses and alarms")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    sides: dict[str, Callable[[Sequence[str]], list[str]]] = {"ours": ours}
    if asked.python:
        for mode in ("files", "strings"):
            sides[f"detect-secrets on {mode}"] = theirs(asked.python, mode)
    splits = [split for split in SPLITS if asked.split in (None, split)]
    found = {
        name: [measured(clean, split, asked.each) for split in splits]
        for name, clean in sides.items()
    }
    if asked.json:
        print(json.dumps(found, indent=1, default=str))
    else:
        for name, halves in found.items():
            for half in halves:
                _show(name, half, asked.examples)
    held = [half for half in found["ours"] if half["split"] == "held"]
    return int(asked.check and any(not _passes(half) for half in held))


def _passes(half: dict[str, Any]) -> bool:
    hits, alarms = half["found"], half["alarms"]
    return bool(hits.hits >= LEAST_FOUND * hits.of and alarms.hits <= MOST_ALARMS * alarms.of)


def _case(group: str, kind: str, around: str, template: str, planted: Planted, name: str) -> Case:
    return Case(group, kind, around, planted.core, _filled(template.replace("NAME", name), planted))


def _filled(template: str, planted: Planted) -> str:
    return template.replace("{}", planted.whole)


def _shares(names: Iterable[str], hits: Sequence[bool]) -> dict[str, Share]:
    shares: dict[str, Share] = {}
    for name, hit in zip(names, hits, strict=True):
        known = shares.get(name, Share(0, 0))
        shares[name] = Share(known.hits + hit, known.of + 1)
    return shares


def _show(name: str, half: dict[str, Any], examples: int) -> None:
    print(
        f"\n## {name}, {half['split']}: found {half['found']}, false alarms {half['alarms']}, ",
        end="",
    )
    print(f"{half['s per MB']:.2f} s a megabyte\n")
    for title, best in (
        ("by group", 1),
        ("by surrounding", 1),
        ("by kind", 1),
        ("alarms by kind", 0),
    ):
        shares = half[title]
        whole = [kind for kind, share in shares.items() if share.hits == best * share.of]
        print(f"{title}: {len(whole)} of {len(shares)} at {100 * best} %")
        for kind, share in shares.items():
            if kind not in whole:
                print(f"  {kind}: {share}")
    for title in ("missed", "alarmed"):
        some = half[title]
        for one in some[:: max(1, len(some) // examples)][:examples] if examples else ():
            print(f"{title}: {one!r}")


if __name__ == "__main__":
    sys.exit(main())
