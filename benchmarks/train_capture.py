"""Find the weights by which capture judges sentences, from labelled texts.

    python benchmarks/train_capture.py --data FILE.jsonl [FILE.jsonl ...]
    python benchmarks/train_capture.py --data FILE.jsonl --folds 5      how well unseen texts go

The texts have the form that `benchmarks/labelled_capture.py` reads. A sentence counts as worth
keeping when it holds what a label keeps; sentences under optional labels are left out. The
model is logistic regression with a quadratic penalty over the signs that several texts show; a
second one, over the kept sentences, tells their type. The weights go to
plugin/memory_fabric/capture/worth/weights.py.
With `--folds` nothing is written: each part of the sources is judged by weights from the others.
Needs numpy.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labelled_capture import ROOT, items
from memory_fabric.capture.hearing import judged
from memory_fabric.text import without_injected, words

TARGET = os.path.join(ROOT, "plugin", "memory_fabric", "capture", "worth", "weights.py")
KINDS = ("decision", "constraint", "preference", "problem", "solution")
LIKE = {"pattern": "constraint", "antipattern": "constraint", "blocker": "problem"}
SCALE = 1000
# A sign counts when it stands in so many sentences; a weight, when it moves the sum by so much.
MIN_SEEN, MIN_WEIGHT = 3, 0.04
PENALTY, KIND_PENALTY = 10.0, 10.0
STEPS, RATE = 600, 0.5
LEAST_ALIKE = 0.5


class Example(NamedTuple):
    """A sentence: its signs, its label (1 kept, 0 not), its type, and the source of its text."""

    signs: tuple[str, ...]
    kept: int
    kind: str
    source: str


class Model(NamedTuple):
    """The weights of each sign, for being kept and for each type, and the biases."""

    signs: dict[str, int]
    weights: NDArray[np.float64]
    bias: float
    kinds: NDArray[np.float64]
    kind_biases: NDArray[np.float64]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", required=True, nargs="+", metavar="FILE", help="labelled texts")
    parser.add_argument("--folds", type=int, default=0, help="only try, on parts left out in turn")
    parser.add_argument("--out", default=TARGET, metavar="FILE", help="where the weights go")
    asked = parser.parse_args(argv)
    examples = [one for path in asked.data for item in items(path) for one in read(item)]
    print(f"{len(examples)} sentences, {sum(e.kept for e in examples)} to keep")
    if asked.folds:
        show(tried(examples, asked.folds))
        return 0
    model = trained(examples)
    with open(asked.out, "w", encoding="utf-8") as out:
        out.write(written(model))
    print(f"{asked.out}: {sum(1 for _ in lasting(model))} signs")
    return 0


def read(item: dict[str, Any]) -> list[Example]:
    """The sentences of a labelled text, without those whose label is optional."""
    seen = list(judged(without_injected(item["text"]), item["role"], every=True))
    labels: dict[int, dict[str, Any]] = {}
    for wanted in item["expect"]:
        alike = [likeness(one.whole.what, wanted["what"]) for one in seen]
        best = max(range(len(seen)), key=lambda place: alike[place], default=-1)
        if best >= 0 and alike[best] >= LEAST_ALIKE and not _is_required(labels.get(best)):
            labels[best] = wanted
    source = item["source"]["repo"]
    source = item["id"] if source == "own" else source
    return [
        Example(one.signs, int(place in labels), labels.get(place, {}).get("type", ""), source)
        for place, one in enumerate(seen)
        if one.signs and (place not in labels or _is_required(labels[place]))
    ]


def likeness(said: str, wanted: str) -> float:
    """How much two clauses share: twice the common words by all words; 1.0 where one is inside."""
    left, right = Counter(words(said)), Counter(words(wanted))
    if not left or not right:
        return 0.0
    common = sum((left & right).values())
    if common >= 0.9 * sum(right.values()):
        return 1.0
    return 2 * common / (sum(left.values()) + sum(right.values()))


def _is_required(wanted: dict[str, Any] | None) -> bool:
    return wanted is not None and not wanted.get("optional")


def trained(examples: Sequence[Example]) -> Model:
    """The weights for these examples."""
    seen = Counter(sign for e in examples for sign in set(e.signs))
    signs = {s: i for i, s in enumerate(sorted(s for s, n in seen.items() if n >= MIN_SEEN))}
    matrix = _matrix(examples, signs)
    labels = np.array([[e.kept] for e in examples], dtype=float)
    weights, bias = _fitted(matrix, labels, PENALTY)
    kept = [e for e in examples if e.kept]
    kinds = np.array([[LIKE.get(e.kind, e.kind) == k for k in KINDS] for e in kept], dtype=float)
    kind_weights, kind_biases = _fitted(_matrix(kept, signs), kinds, KIND_PENALTY)
    return Model(signs, weights[:, 0], float(bias[0]), kind_weights, kind_biases)


def _matrix(examples: Sequence[Example], signs: dict[str, int]) -> NDArray[np.float64]:
    matrix = np.zeros((len(examples), len(signs)))
    for row, example in enumerate(examples):
        matrix[row, [signs[s] for s in example.signs if s in signs]] = 1.0
    return matrix


def _fitted(
    matrix: NDArray[np.float64], labels: NDArray[np.float64], penalty: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights and biases of logistic regression, by descent with momentum (Nesterov)."""
    weights = np.zeros((matrix.shape[1], labels.shape[1]))
    bias = np.log((labels.mean(0) + 1e-3) / (1 - labels.mean(0) + 1e-3))
    step = 1.0 / (0.25 * _stretch(matrix) + penalty)
    ahead, bias_ahead = weights.copy(), bias.copy()
    for count in range(1, STEPS + 1):
        off = 1 / (1 + np.exp(-(matrix @ ahead + bias_ahead))) - labels
        new = ahead - step * (matrix.T @ off + penalty * ahead)
        new_bias = bias_ahead - off.mean(0) * RATE
        momentum = (count - 1) / (count + 2)
        ahead, bias_ahead = new + momentum * (new - weights), new_bias
        weights, bias = new, new_bias
    return weights, bias


def _stretch(matrix: NDArray[np.float64]) -> float:
    """The square of the most by which the matrix stretches a vector; it bounds the step."""
    vector = np.ones(matrix.shape[1])
    for _ in range(50):
        vector = matrix.T @ (matrix @ vector)
        vector /= np.linalg.norm(vector)
    return 1.05 * float(np.linalg.norm(matrix @ vector) ** 2)


def judge(model: Model, signs: Iterable[str]) -> float:
    """The chance that the model gives a sentence with these signs."""
    total = model.bias + sum(model.weights[model.signs[s]] for s in signs if s in model.signs)
    return float(1 / (1 + np.exp(-total)))


def tried(examples: Sequence[Example], folds: int) -> list[tuple[float, int]]:
    """The chance and the label of each sentence, by weights from the other sources."""
    part = [zlib.crc32(e.source.encode()) % folds for e in examples]
    found = []
    for fold in range(folds):
        rest = [e for e, p in zip(examples, part, strict=True) if p != fold]
        here = [e for e, p in zip(examples, part, strict=True) if p == fold]
        model = trained(rest)
        found += [(judge(model, e.signs), e.kept) for e in here]
    return found


def show(found: Sequence[tuple[float, int]]) -> None:
    """Precision and recall of sentences at several chances."""
    wanted = sum(label for _, label in found)
    for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        kept = [label for chance, label in found if chance >= least]
        precision = sum(kept) / len(kept) if kept else 0.0
        print(f"from {least}: precision {precision:.2f}, recall {sum(kept) / wanted:.2f}")


def lasting(model: Model) -> Iterable[tuple[str, list[int]]]:
    """The signs whose weights matter, with all their weights as whole numbers."""
    for sign, place in model.signs.items():
        row = [model.weights[place], *model.kinds[place]]
        if max(map(abs, row)) < MIN_WEIGHT:
            continue
        tells_kind = max(map(abs, row[1:])) >= MIN_WEIGHT
        yield sign, [round(weight * SCALE) for weight in (row if tells_kind else row[:1])]


def written(model: Model) -> str:
    """The module of weights."""
    biases = ", ".join(str(round(b * SCALE)) for b in model.kind_biases)
    rows = "\n".join(
        f"    {json.dumps(sign, ensure_ascii=False)}: ({' '.join(f'{weight},' for weight in row)}),"
        for sign, row in lasting(model)
    )
    kinds = ", ".join(f'"{kind}"' for kind in KINDS)
    return (
        '"""Written by `benchmarks/train_capture.py`; not to be edited."""\n\n'
        "from __future__ import annotations\n\n"
        f"SCALE = {SCALE}\nKINDS = ({kinds})\nBIAS = {round(model.bias * SCALE)}\n"
        f"KIND_BIASES = ({biases})\n# fmt: off\n"
        f"WEIGHTS: dict[str, tuple[int, ...]] = {{\n{rows}\n}}\n# fmt: on\n"
    )


if __name__ == "__main__":
    sys.exit(main())
