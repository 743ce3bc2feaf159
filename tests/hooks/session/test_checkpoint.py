"""The checkpoint: which prompt was the task, and how its parts share the room."""

from __future__ import annotations

from typing import Any

import pytest

from memory_fabric.hooks.session.checkpoint import block, checkpoint, open_task
from memory_fabric.models import Entity, Record

NOW = "2026-03-01T12:00:00.000Z"
TASK = "Build the analytics importer for CSV uploads"


def a_record(what: str, number: int = 0, **fields: Any) -> Record:
    id_ = f"00000000-0000-7000-8000-{number:012}"
    return Record("decision", what, id=id_, created_at=NOW, **fields)


class TestTask:
    @pytest.mark.parametrize(
        "nod", ["yes", "Continue.", "ok, go on please", "/compact", "👍", "ja, weiter", "lgtm!"]
    )
    def test_a_short_assent_such_as_ok_does_not_replace_the_current_task(self, nod: str) -> None:
        assert open_task([TASK, nod, nod]) == (TASK, "")

    def test_a_short_follow_up_prompt_is_kept_with_the_preceding_task(self) -> None:
        assert open_task([TASK, "And the tests?", "yes"]) == (TASK, "And the tests?")
        assert open_task([TASK, "Now the docs", "And the tests?"]) == (TASK, "And the tests?")

    def test_a_new_task_replaces_the_old_task(self) -> None:
        newer = "Rename every queue after its worker"

        assert open_task([TASK, "And the tests?", newer]) == (newer, "")

    def test_a_short_request_counts_as_the_task_if_all_prompts_are_short(self) -> None:
        assert open_task(["Fix CI", "yes"]) == ("Fix CI", "")
        assert open_task(["yes", "ok"]) == ("", "")

    def test_client_messages_and_memory_fabric_blocks_are_not_tasks(self) -> None:
        noted = "<memory-fabric>\nRemembered: many words about other things\n</memory-fabric>"

        assert open_task([TASK, "[Request interrupted by user]", noted]) == (TASK, "")

    def test_a_long_task_keeps_its_beginning_and_its_end(self) -> None:
        long = "The importer is slow. " + "It reads row by row. " * 100 + "Make it stream instead."

        saved = checkpoint([long], [], now=NOW)["task"]

        assert len(saved) <= 500
        assert saved.startswith("The importer is slow.")
        assert saved.endswith("Make it stream instead.")

    def test_a_checkpoint_takes_missing_facts_from_the_previous_checkpoint(self) -> None:
        before = checkpoint(
            [TASK, "And the tests?"], [], now=NOW, changed=["a.py", "b.py"], items=["Write it"]
        )

        after = checkpoint(["yes"], ["Done so far."], now=NOW, changed=["c.py"], before=before)

        assert (after["task"], after["follow_up"]) == (TASK, "And the tests?")
        assert after["files"] == ["c.py", "b.py", "a.py"]
        assert after["items"] == ["Write it"]
        assert checkpoint(["yes"], [], now=NOW, items=[], before=before)["items"] == []

    def test_read_files_are_listed_only_if_no_file_was_changed(self) -> None:
        read = [f"f{n}.py" for n in range(9)]

        assert checkpoint([TASK], [], now=NOW, read=read)["read"] == ["f8.py", "f7.py", "f6.py"]
        assert checkpoint([TASK], [], now=NOW, read=read, changed=["x.py"])["read"] == []


class TestRoom:
    def test_a_full_checkpoint_leaves_room_for_decisions_and_pinned_records(self) -> None:
        saved = checkpoint(
            ["Please build all of this: " + "words and more words " * 200],
            ["I said a great deal. " * 50] * 2,
            now=NOW,
            changed=[f"src/{'deep/' * 12}file_{n}.py" for n in range(20)],
            items=[f"Item number {n} of the long list of things" for n in range(20)],
        )
        own = [a_record(f"Own decision {n} " + "about it " * 30, n) for n in range(1, 20)]
        pinned = [a_record(f"Pinned {n} " + "about it " * 30, 100 + n) for n in range(9)]

        text, ids = block(saved, own, pinned, [a_record("Other", 300)])

        assert len(text) <= 3000
        for part in ("Task the user", "Still to do", "Files changed", "Own decision 1", "Pinned 0"):
            assert part in text
        assert text.count("Own decision") >= 2
        assert len(ids) == text.count("- [decision")

    def test_a_checkpoint_section_can_use_the_space_that_other_sections_leave(self) -> None:
        own = [a_record(f"Own decision {n}", n) for n in range(30)]

        text, ids = block({"task": TASK}, own)

        assert len(ids) > 20
        assert text.index(TASK) < text.index("Own decision 0")

    def test_an_empty_checkpoint_is_rendered_as_empty_text(self) -> None:
        assert block({}, []) == ("", ())
        assert block(checkpoint([], [], now=NOW), []) == ("", ())

    def test_a_checkpoint_returns_the_ids_of_exactly_the_records_in_its_text(self) -> None:
        own = [a_record(f"Decision {n:02}", n, entities=(Entity("x" * 60, ""),)) for n in range(60)]

        text, ids = block({"task": TASK}, own)

        assert [r.id for r in own if r.what in text] == list(ids)
