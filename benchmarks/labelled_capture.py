"""What capture makes of texts: the product's own records for a labelled file, ready for scoring.

    python3 benchmarks/labelled_capture.py --data FILE.jsonl --out PRED.jsonl
    python3 benchmarks/labelled_capture.py --data FILE.jsonl --out PRED.jsonl --promoted

A line of FILE is `{"id", "role", "text", "expect", ...}`; a line of PRED `{"id", "records":
[{"type", "what", "why", "over", "entities", "relations", "confidence"}]}`. Each text stands alone,
in an empty memory, as a hook would read it from that speaker. With `--promoted` only what would
reach MEMORY.md is written: said by the user, with the confidence that asks for. Needs Python >=
3.11 and nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "plugin"))

from memory_fabric.capture.mentions import mentions  # noqa: E402
from memory_fabric.capture.remember import found_in  # noqa: E402
from memory_fabric.models import PROMOTED_FROM, STORED_FROM, Record  # noqa: E402
from memory_fabric.text import without_injected  # noqa: E402


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", required=True, metavar="FILE", help="texts, one JSON a line")
    parser.add_argument("--out", required=True, metavar="FILE", help="where predictions go")
    parser.add_argument("--promoted", action="store_true", help="only what MEMORY.md would get")
    asked = parser.parse_args(argv)
    with open(asked.out, "w", encoding="utf-8") as out:
        for item in items(asked.data):
            found = predicted(item, promoted=asked.promoted)
            out.write(json.dumps({"id": item["id"], "records": found}, ensure_ascii=False) + "\n")
    return 0


def items(path: str) -> Iterator[dict[str, Any]]:
    """The labelled texts of a file."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def predicted(item: dict[str, Any], *, promoted: bool = False) -> list[dict[str, Any]]:
    """The records that a hook would store of the text, in the form of the labelled file."""
    text, speaker = without_injected(item["text"]), item["role"]
    found = found_in(text, speaker)
    least = PROMOTED_FROM if promoted else STORED_FROM
    if promoted and item["role"] != "user":
        return []
    return [as_object(record) for record in found if record.confidence >= least]


def as_object(record: Record) -> dict[str, Any]:
    """A record with the fields that are labelled."""
    return {
        "type": record.type,
        "what": record.what,
        "why": record.why,
        "over": list(record.alternatives),
        "entities": named_in(record),
        "relations": [[r.source, r.type.upper(), r.target] for r in record.relations],
        "confidence": record.confidence,
    }


def named_in(record: Record) -> list[str]:
    """The record's entities as its text writes them, not under their canonical names."""
    said = f"{record.what}. {record.why}" if record.why else record.what
    return list(dict.fromkeys(said[m.start : m.end] for m in mentions(said, {})))


if __name__ == "__main__":
    sys.exit(main())
