"""Notes in the client's memory files: recall finds them beside records; prompts never show them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_fabric.models import Answer
from memory_fabric.recall.explain import answer_as_json
from memory_fabric.recall.parse import parse
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.recall.retrieve import GRAPH_REQUIRED, RECALL_LIMIT, retrieve
from memory_fabric.store.memory import Memory
from memory_fabric.store.tiers import memory_md
from recall.given import NOW, open_memory, remember


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = open_memory(tmp_path)
    yield memory
    memory.close()


def put(memory: Memory, text: str, name: str = "MEMORY.md", changed_s: int = 0) -> None:
    assert memory.project is not None
    notes = memory_md.locate(memory.settings.config_dir, memory.project.root)
    path = Path(notes.path).parent / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if changed_s:
        os.utime(path, (0, changed_s))


def ask(memory: Memory, question: str) -> Answer:
    return Fabric(memory, NOW).recall(question)


def native_texts(answer: Answer) -> list[str]:
    return [hit.text for hit in answer.hits if hit.source == "native"]


def test_notes_in_client_memory_files_are_found_in_addition_to_records(memory: Memory) -> None:
    remember(memory, "Deploys wait for the smoke test")
    put(memory, "# Shop\n\n- Deploys go through Argo\n- Shoes are sold in pairs\n")

    answer = ask(memory, "How do deploys work?")

    assert native_texts(answer) == ["Shop: Deploys go through Argo"]
    assert answer_as_json(answer)["sources"] == {"records": 1, "native": 1}
    assert answer.failures == ()


@pytest.mark.parametrize("question", ["deploying shoes?", "k8s", '"in pairs"', "the rollout"])
def test_a_client_memory_note_is_found_by_word_stem_spelling_phrase_or_synonym(
    memory: Memory, question: str
) -> None:
    put(memory, "- Deploys of shoes go out in pairs, by Kubernetes\n- Socks do not\n")

    assert native_texts(ask(memory, question)) == [
        "Deploys of shoes go out in pairs, by Kubernetes"
    ]


def test_the_note_that_matches_more_words_is_ranked_first(memory: Memory) -> None:
    put(memory, "- Argo has a page\n- Argo deploys the shop at night\n")

    texts = native_texts(ask(memory, "When does Argo deploy the shop?"))

    assert texts[0] == "Argo deploys the shop at night"


def test_the_limit_keeps_the_notes_that_match_the_most_words(memory: Memory) -> None:
    put(memory, "- Argo\n" * RECALL_LIMIT + "- Argo deploys\n")

    found, _, _ = retrieve(parse("argo deploys"), memory, limit=RECALL_LIMIT, wide=True)

    assert len(found) == RECALL_LIMIT
    assert found[0].text == "Argo deploys"


def test_records_shown_in_memory_md_are_not_found_again_as_notes(memory: Memory) -> None:
    record = remember(memory, "Deploys go through Argo", pinned=True)
    memory.flush()
    put(memory, (notes_of(memory).read_text()) + "\n- Argo runs at night\n")

    answer = ask(memory, "Argo deploys")

    assert native_texts(answer) == ["Argo runs at night"]
    assert [h.id for h in answer.hits if "go through" in h.text] == [f"record:{record.id}"]


def notes_of(memory: Memory) -> Path:
    assert memory.project is not None
    return Path(memory_md.locate(memory.settings.config_dir, memory.project.root).path)


@pytest.mark.parametrize(
    ("narrowed", "count"),
    [
        ("argo type:note", 1),
        ("argo type:decision", 0),
        ("argo scope:user", 0),
        ("argo domain:code_reviewer", 0),
        ("argo since:2026-02-01", 1),
        ("argo before:2026-02-01", 0),
        ("argo as_of:2026-02-01", 0),
        ("argo @global", 0),
    ],
)
def test_filters_in_a_question_apply_to_notes(memory: Memory, narrowed: str, count: int) -> None:
    put(memory, "- Deploys go through Argo\n", changed_s=1771581600)  # 2026-02-20

    assert len(native_texts(ask(memory, narrowed))) == count


def test_a_note_in_an_old_client_memory_file_is_marked_as_stale(memory: Memory) -> None:
    put(memory, "- Deploys go through Argo\n", changed_s=1748779200)  # 2025-06-01

    (hit,) = ask(memory, "Argo").hits

    assert hit.timestamp.startswith("2025-06-01") and hit.metadata["stale"]


def test_an_unreadable_note_file_is_reported_and_other_notes_are_found(memory: Memory) -> None:
    put(memory, "- Deploys go through Argo\n")
    (notes_of(memory).parent / "latin.md").write_bytes(b"caf\xe9")

    answer = ask(memory, "Argo")

    assert native_texts(answer) == ["Deploys go through Argo"]
    assert answer.failures == ("native (latin.md): it is not UTF-8 text",)
    assert ask(memory, "zanzibar").failures == answer.failures


def test_recall_returns_no_client_memory_notes_if_the_graph_database_is_corrupt(
    tmp_path: Path, memory: Memory
) -> None:
    remember(memory, "Pagination uses opaque cursors")
    put(memory, "- Deploys go through Argo\n")
    memory.close()
    Path(memory.path_of("project")).write_bytes(b"this is not a database" * 100)

    again = open_memory(tmp_path)
    answer = ask(again, "Argo")
    again.close()

    assert answer.hits == ()
    assert answer.failures[-1] == GRAPH_REQUIRED


def test_notes_in_client_memory_files_are_not_injected_into_prompts(memory: Memory) -> None:
    put(memory, "- Deploys go through Argo in the shop\n")

    assert native_texts(ask(memory, "How does Argo deploy the shop?"))
    assert Fabric(memory, NOW).hits_to_inject("How does Argo deploy the shop?") == []
    assert retrieve(parse("Argo deploys"), memory) == ([], (), ())
