"""The benchmark of capture and the training of its weights, on a few texts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
KEPT: dict[str, Any] = {
    "type": "decision",
    "what": "",
    "why": None,
    "over": [],
    "entities": [],
    "relations": [],
}


def item(id_: str, role: str, text: str, *whats: str) -> dict[str, Any]:
    expect = [KEPT | {"what": what} for what in whats]
    return {"id": id_, "role": role, "text": text, "expect": expect, "source": {"repo": id_}}


def run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(ROOT / "benchmarks" / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return done.stdout


def lines(path: Path, items: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in items), "utf-8")
    return path


def test_predictions_have_the_form_of_the_labels_and_the_texts_own_words(tmp_path: Path) -> None:
    told = "We decided to use Redis over Memcached because it persists."
    data = lines(
        tmp_path / "data.jsonl",
        [item("a", "user", told), item("b", "user", "Is it fast?"), item("c", "assistant", told)],
    )
    run("labelled_capture.py", "--data", str(data), "--out", str(tmp_path / "out.jsonl"))
    promoted_only = ("--out", str(tmp_path / "up.jsonl"), "--promoted")
    run("labelled_capture.py", "--data", str(data), *promoted_only)

    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [one["id"] for one in found] == ["a", "b", "c"]
    (record,) = found[0]["records"]
    assert record["what"] in told
    assert (record["type"], record["over"], record["why"]) == (
        "decision", ["Memcached"], "it persists",
    )  # fmt: skip
    assert record["entities"] == ["Redis", "Memcached"]
    assert record["relations"] == [["Redis", "CHOSE_OVER", "Memcached"]]
    assert found[1]["records"] == []
    promoted = [json.loads(line) for line in (tmp_path / "up.jsonl").read_text().splitlines()]
    assert [bool(one["records"]) for one in promoted] == [True, False, False]


def test_training_learns_from_labels_and_leaves_the_sources_apart(tmp_path: Path) -> None:
    subjects = "parser cache importer queue ledger mailer indexer router".split() * 4
    items = []
    for n, subject in enumerate(subjects):
        said = f"Zounds the {subject} goes first. Look at the {subject} now."
        items.append(item(f"t{n}", "user", said, f"Zounds the {subject} goes first"))
    data = lines(tmp_path / "data.jsonl", items)

    told = run("train_capture.py", "--data", str(data), "--out", str(tmp_path / "weights.py"))
    assert "64 sentences, 32 to keep" in told
    weights: dict[str, Any] = {}
    exec((tmp_path / "weights.py").read_text("utf-8"), weights)
    assert weights["WEIGHTS"]["first:zounds"][0] > 0 > weights["WEIGHTS"]["first:look"][0]
    assert "from 0.5: precision 1.00, recall 1.00" in run(
        "train_capture.py", "--data", str(data), "--folds", "4"
    )
