"""Changes of a memory by the page, in this process: what each answers, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.errors import BadInput, NotFound
from memory_fabric.models import CONTRADICTS, IMPORTED, Provenance, Record
from memory_fabric.servers.http.local_store import carry_out
from memory_fabric.servers.http.requests import ChangeBody
from memory_fabric.servers.http.responses import Refused
from memory_fabric.store.history import changes, resolve
from memory_fabric.store.memory import Memory
from servers.mcp_clients import settings
from store.support import TOOL, USER, create, decision, entity


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


def known(memory: Memory, what: str, by: Provenance = USER, **fields: Any) -> Record:
    """Store a decision and return it."""
    stored = memory.remember(decision(what, **fields), by)
    assert stored is not None
    return stored


def shown(memory: Memory, record: Record) -> dict[str, str]:
    """A record as a change names it that was shown it as it is now."""
    now = resolve.record_by_id(memory, record.id)[0]
    return {"id": now.id, "version": resolve.version_of(now)}


def now(memory: Memory, record: Record) -> Record:
    return resolve.record_by_id(memory, record.id)[0]


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


def test_a_candidate_is_kept_or_dropped(memory: Memory) -> None:
    first, second = (
        known(memory, what, confidence=0.35) for what in ("Perhaps ship daily", "Perhaps use S3")
    )

    kept = change(memory, "keep", record=shown(memory, first))
    dropped = change(memory, "drop", record=shown(memory, second))

    assert (kept["done"], dropped["done"]) == ("remembered", "forgotten")
    assert [one.what for one in memory.find_records("status = 'active'")] == ["Perhaps ship daily"]
    assert memory.find_records("status = 'candidate'") == []


def test_a_record_replaces_those_that_it_contradicts(memory: Memory) -> None:
    old = known(memory, "Orders are in MongoDB")
    new = known(memory, "Orders are in Postgres", evidence={CONTRADICTS: [old.id]})

    answer = change(memory, "replace", record=shown(memory, new))

    assert answer["done"] == "replaced"
    named = f"decision {new.id[-8:]}, Orders are in Postgres"
    assert answer["said"] == f"{named}; it replaces {old.id[-8:]}."
    assert now(memory, old).superseded_by == new.id


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


def test_a_change_of_a_record_that_was_shown_differently_is_refused(memory: Memory) -> None:
    record, other = known(memory, "Use UTC in the log"), known(memory, "Use a for the queue")
    seen = shown(memory, record)
    change(memory, "edit", record=seen, why="logs are merged", when="git push")

    error = refusal(memory, "pin", record=seen)
    fields = {"record": shown(memory, other), "text": "Use b", "instead_of": [seen]}
    refused = refusal(memory, "edit", **fields)

    assert (error["code"], error["field"]) == ("changed", "version")
    assert error["message"] == f"{record.id[-8:]} was changed since it was shown; nothing was done."
    current = error["current"]
    assert current["version"] == shown(memory, record)["version"]
    assert (current["why"], current["when"]) == ("logs are merged", "git push")
    assert refused["current"]["id"] == record.id
    assert not now(memory, record).pinned


def test_forget_is_previewed_and_then_forgets_exactly_that(memory: Memory) -> None:
    first = known(memory, "Use amber for the birch")
    preview = change(memory, "forget", what="amber birch")
    assert set(preview) == {"preview"} and preview["preview"]["count"] == 1
    assert [one["id"] for one in preview["preview"]["records"]] == [first.id]
    second = known(memory, "Paint the amber birch")

    late = refusal(memory, "forget", what="amber birch", code=preview["preview"]["code"])
    code = change(memory, "forget", what="amber birch")["preview"]["code"]
    both = change(memory, "forget", what="amber birch", code=code)

    assert late["field"] == "code" and late["message"].startswith("The matches have changed")
    assert both["said"] == "Forgotten: 2 memories" and "record" not in both
    change(memory, "undo", **both["undo"])
    code = change(memory, "forget", what=second.id)["preview"]["code"]
    one = change(memory, "forget", what=second.id, code=code)
    assert one["said"] == f"Forgotten: decision {second.id[-8:]}, Paint the amber birch"
    create(memory, entity("Redis", "caches the zebra"), entity("api"))
    code = change(memory, "forget", what="zebra")["preview"]["code"]
    assert change(memory, "forget", what="zebra", code=code)["said"] == "Forgotten: 1 memory"
    code = change(memory, "forget", what="api")["preview"]["code"]
    assert change(memory, "forget", what="api", code=code)["said"] == "Forgotten: api"


def test_a_merge_is_previewed_with_the_sizes_of_its_entities(memory: Memory) -> None:
    create(memory, entity("Kubernetes", "runs"), entity("k8s", "is old", "is large"))

    preview = change(memory, "merge", into="Kubernetes", names=["k8s"])["preview"]
    create(memory, entity("k8s", "is new"))
    late = refusal(memory, "merge", into="Kubernetes", names=["k8s"], code=preview["code"])
    code = change(memory, "merge", into="Kubernetes", names=["k8s"])["preview"]["code"]
    merged = change(memory, "merge", into="Kubernetes", names=["k8s"], code=code)

    assert [(one["name"], one["observations"]) for one in preview["entities"]] == [
        ("Kubernetes", 1),
        ("k8s", 2),
    ]
    assert preview["into"] == "Kubernetes"
    assert late["message"].startswith("The entities have changed since this preview")
    assert (merged["done"], merged["into"]) == ("merged", "Kubernetes")
    assert merged["said"] == "k8s: now Kubernetes"


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


@pytest.mark.parametrize(
    ("action", "said", "count"),
    [
        ("holds_all", "Confirmed: all 2 from claude-mem", 3),
        ("drop_all", "Forgotten: all 2 from claude-mem", 1),
    ],
)
def test_all_imported_memories_of_a_program_are_decided_on_at_once(
    memory: Memory, action: str, said: str, count: int
) -> None:
    by = Provenance("import", trust="tool")
    for what in ("Use a for the queue", "Use b for the log"):
        known(memory, what, by, evidence={IMPORTED: "claude-mem"})
    known(memory, "Use c for the cart")

    preview = change(memory, action, of="claude-mem")["preview"]
    late = refusal(memory, action, of="claude-mem", code="00000000")
    done = change(memory, action, of="claude-mem", code=preview["code"])

    assert preview["count"] == 2
    assert late["message"].startswith("What waits of claude-mem has changed")
    assert done["said"] == said
    assert len(memory.find_records("1")) == count
    with pytest.raises(NotFound, match="Nothing of claude-mem waits"):
        change(memory, action, of="claude-mem")


def test_texts_in_an_answer_cannot_contain_the_tags_that_mark_memories(memory: Memory) -> None:
    record = known(memory, f"Use <memory-fabric> {'w' * 200}", TOOL)

    answer = change(memory, "pin", record=shown(memory, record))

    assert "<memory-fabric>" not in answer["said"]
    assert answer["said"].endswith("w…")
    assert len(answer["said"].partition(", ")[2]) == 200
