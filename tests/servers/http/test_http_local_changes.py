"""Answers and refusals of changes that the page asks for, without a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.errors import BadInput
from memory_fabric.models import Record
from memory_fabric.servers.http.local_store import carry_out
from memory_fabric.servers.http.requests import ChangeBody
from memory_fabric.servers.http.responses import Refused
from memory_fabric.store.history import changes, resolve
from memory_fabric.store.memory import Memory
from servers.mcp_clients import settings
from store.support import USER, create, decision, entity


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    opened = Memory.open(settings(tmp_path / "home"))
    yield opened
    opened.close()


def change(memory: Memory, action: str, **fields: Any) -> dict[str, Any]:
    """The answer to a request for a change, after which no batch may be open."""
    asked = ChangeBody.model_validate({"action": action, **fields}).root
    answer = carry_out(memory, asked)
    assert memory.batch == memory.whole.batch == ""
    return answer


def refusal(memory: Memory, action: str, **fields: Any) -> dict[str, Any]:
    """The error of a change that is refused because of what has changed meanwhile."""
    before = changes.read_all(memory, limit=1)
    with pytest.raises(Refused) as caught:
        change(memory, action, **fields)
    assert caught.value.answer.status_code == 409
    assert memory.batch == "" and changes.read_all(memory, limit=1) == before
    return dict(json.loads(bytes(caught.value.answer.body))["error"])


def known(memory: Memory, what: str, **fields: Any) -> Record:
    """Store a decision and return it."""
    stored = memory.remember(decision(what, **fields), USER)
    assert stored is not None
    return stored


def now(memory: Memory, record: Record) -> Record:
    """The current version of a record."""
    return resolve.record_by_id(memory, record.id)[0]


def shown(memory: Memory, record: Record) -> dict[str, str]:
    """The id and the current version of a record, as a request names it."""
    return {"id": record.id, "version": resolve.version_of(now(memory, record))}


def test_each_decision_on_a_record_is_told_and_can_be_undone(memory: Memory) -> None:
    record = known(memory, "Use UTC in the log")
    name = f"decision {record.id[-8:]}, Use UTC in the log"

    for action, done in (
        ("pin", "pinned"),
        ("unpin", "not pinned"),
        ("holds", "confirmed"),
        ("drop", "forgotten"),
    ):
        answer = change(memory, action, record=shown(memory, record))

        assert (answer["done"], answer["record"]) == (done, record.id)
        assert answer["said"] == f"{done.capitalize()}: {name}"
        assert answer["failures"] == []
        (made,) = changes.read_all(memory, limit=1)
        assert answer["undo"] == {"id": made.id, "code": answer["undo"]["code"]}
        assert made.by["source"] == "page" and made.by["trust"] == "user"
    assert memory.find_records("1") == []
    undone = change(memory, "undo", **answer["undo"])
    assert undone["done"] == "undone" and undone["said"].startswith("Undone: ")
    assert [one.id for one in memory.find_records("1")] == [record.id]


def test_an_edit_may_change_the_wording_replace_others_or_both(memory: Memory) -> None:
    old, other, third = (known(memory, f"Use {name} for the queue") for name in "abc")

    edited = change(memory, "edit", record=shown(memory, old), why="it is quick")
    closing = [shown(memory, other)]
    replaced = change(memory, "edit", record=shown(memory, old), instead_of=closing)
    closing = [shown(memory, third)]
    both = change(
        memory, "edit", record=shown(memory, old), text="Use z for it", instead_of=closing
    )

    assert (edited["done"], replaced["done"], both["done"]) == ("changed", "replaced", "changed")
    assert edited["said"].startswith("Changed: decision ")
    assert replaced["said"].endswith(f"it replaces {other.id[-8:]}.")
    assert now(memory, other).superseded_by and now(memory, third).superseded_by
    assert both["said"].startswith("Changed: ") and "Use z for it" in both["said"]
    with pytest.raises(BadInput, match="Nothing to change"):
        change(memory, "edit", record=shown(memory, old))


def test_a_record_is_not_replaced_if_it_changed_since_it_was_shown(memory: Memory) -> None:
    record, other = known(memory, "Use UTC in the log"), known(memory, "Use a for the queue")
    seen = shown(memory, record)
    change(memory, "edit", record=seen, why="logs are merged", when="git push")

    fields = {"record": shown(memory, other), "text": "Use b", "instead_of": [seen]}
    error = refusal(memory, "edit", **fields)

    assert (error["code"], error["field"]) == ("changed", "version")
    current = error["current"]
    assert (current["id"], current["version"]) == (record.id, shown(memory, record)["version"])
    assert (current["why"], current["when"]) == ("logs are merged", "git push")


def test_nothing_is_forgotten_if_more_matches_than_the_preview_listed(memory: Memory) -> None:
    known(memory, "Use amber for the birch")
    code = change(memory, "forget", what="amber birch")["preview"]["code"]
    known(memory, "Paint the amber birch")

    late = refusal(memory, "forget", what="amber birch", code=code)

    assert late["field"] == "code" and late["message"].startswith("The matches have changed")


def test_a_single_forgotten_observation_is_called_a_memory(memory: Memory) -> None:
    create(memory, entity("Redis", "caches the zebra"))
    code = change(memory, "forget", what="zebra")["preview"]["code"]

    answer = change(memory, "forget", what="zebra", code=code)

    assert answer["said"] == "Forgotten: 1 memory" and "record" not in answer


def test_entities_that_changed_since_the_preview_are_not_merged(memory: Memory) -> None:
    create(memory, entity("Kubernetes", "runs"), entity("k8s", "is old", "is large"))

    preview = change(memory, "merge", into="Kubernetes", names=["k8s"])["preview"]
    create(memory, entity("k8s", "is new"))
    late = refusal(memory, "merge", into="Kubernetes", names=["k8s"], code=preview["code"])

    sizes = {one["name"]: one["observations"] for one in preview["entities"]}
    assert (sizes, preview["into"]) == ({"Kubernetes": 1, "k8s": 2}, "Kubernetes")
    assert late["message"].startswith("The entities have changed since this preview")


def test_the_changes_of_one_request_are_undone_together(memory: Memory) -> None:
    first, second, third = (known(memory, f"Use {name} for the queue") for name in "abc")
    closing = [shown(memory, second), shown(memory, third)]
    fields = {"text": "Use z for it", "instead_of": closing}
    made = change(memory, "edit", record=shown(memory, first), **fields)

    preview = change(memory, "undo")["preview"]
    wrong = refusal(memory, "undo", id=preview["id"], code="00000000")
    undone = change(memory, "undo", id=preview["id"], code=preview["code"])
    code = change(memory, "undo", id=preview["id"])["preview"]["code"]
    again = refusal(memory, "undo", id=preview["id"], code=code)

    assert made["undo"] == {"id": preview["id"], "code": preview["code"]}
    assert [one["because"] for one in preview["changes"]] == [""] * 3
    assert wrong["message"].startswith("The change is not as it was shown")
    assert undone["said"] == f"Undone: {preview['changes'][0]['what']} and 2 other changes"
    assert again["code"] == "not_undone"
    assert again["message"] == (
        f"Not undone, it is undone already: {preview['changes'][0]['what']}."
    )
    assert not any(one.superseded_by for one in memory.find_records("1"))


def test_texts_in_an_answer_cannot_contain_the_tags_that_mark_memories(memory: Memory) -> None:
    record = known(memory, f"Use <memory-fabric> {'w' * 200}")

    answer = change(memory, "pin", record=shown(memory, record))

    assert "<memory-fabric>" not in answer["said"]
    assert answer["said"].endswith("w…")
    assert len(answer["said"].partition(", ")[2]) == 200
