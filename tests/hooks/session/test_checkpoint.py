"""The checkpoint: which prompt was the task, and how its parts share the room."""

from __future__ import annotations

from typing import Any

import pytest

from memory_fabric.clients.transcript import ToolUse, Turn
from memory_fabric.hooks.session.checkpoint import (
    CHANGING_TOOLS,
    MAX_FILES,
    MAX_FOLLOW_UP_CHARS,
    MAX_ITEM_CHARS,
    MAX_ITEMS,
    MAX_PATH_CHARS,
    MAX_SAID_CHARS,
    MAX_TASK_CHARS,
    block,
    checkpoint,
    open_items,
    open_task,
    summary_text,
    touched_files,
)
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

    def test_a_prompt_states_a_task_from_four_different_content_words_on(self) -> None:
        four, three = "Rename queue worker table", "Rename queue worker worker"

        assert open_task([TASK, four]) == (four, "")
        assert open_task([TASK, three]) == (TASK, three)
        assert open_task([three, "Fix CI"]) == ("Fix CI", "")
        assert open_task([]) == ("", "")

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

    def test_a_new_task_replaces_the_task_and_the_follow_up_of_the_previous_checkpoint(
        self,
    ) -> None:
        before = checkpoint([TASK, "And the tests?"], [], now="then", changed=["a.py", "b.py"])
        newer = "Rename every queue after its worker"

        after = checkpoint([newer], [], now=NOW, changed=["a.py"], before=before)

        assert (after["at"], after["task"], after["follow_up"]) == (NOW, newer, "")
        assert after["files"] == ["a.py", "b.py"]
        assert checkpoint(["yes"], [], now=NOW, read=["c.py"], before=before)["read"] == []
        assert checkpoint(["yes"], [], now=NOW, before=before)["items"] == []

    def test_a_checkpoint_has_the_last_files_and_answers_and_the_first_items_and_cuts_each(
        self,
    ) -> None:
        files = [f"f{number}.py" for number in range(MAX_FILES)]
        long_path = f"{'d/' * MAX_PATH_CHARS}e.py"
        items = [f"{number} {'x' * MAX_ITEM_CHARS}" for number in range(MAX_ITEMS + 1)]

        saved = checkpoint(
            ["y" * MAX_TASK_CHARS],
            ["First.", "Second.\n\nNoted fact: It rains.", " ", "z" * (MAX_SAID_CHARS + 1)],
            now=NOW,
            changed=[*files, long_path],
            items=items,
        )

        assert saved["task"] == "y" * MAX_TASK_CHARS
        assert saved["files"] == [long_path[-MAX_PATH_CHARS:], *files[:0:-1]]
        assert [item[0] for item in saved["items"]] == list("01234567")
        assert {len(item) for item in saved["items"]} == {MAX_ITEM_CHARS}
        assert saved["said"][0] == "Second." and len(saved["said"]) == 2
        assert len(saved["said"][1]) == MAX_SAID_CHARS

    def test_a_text_one_character_too_long_loses_its_middle(self) -> None:
        task = f"Rename queue worker table {'a' * 274} {'b' * (MAX_TASK_CHARS - 300)}"
        prompts = [task, f"Fix {'c' * (MAX_FOLLOW_UP_CHARS - 3)}"]

        saved = checkpoint(prompts, [], now=NOW)

        told, follow_up = saved["task"], saved["follow_up"]
        assert len(told) <= MAX_TASK_CHARS and "…" in told
        assert told.startswith(task[:200]) and told.endswith("b" * 100)
        assert len(follow_up) <= MAX_FOLLOW_UP_CHARS and "…" in follow_up


class TestRoom:
    def test_each_part_of_a_checkpoint_has_its_line(self) -> None:
        saved = {
            "task": TASK,
            "follow_up": "And the tests?",
            "files": ["a.py", "b.py"],
            "read": ["c.py"],
            "items": ["Parse", "Write"],
            "said": ["It works."],
        }

        own, pinned, other = (a_record(f"Number {number}", number) for number in (1, 2, 3))

        text, ids = block(saved, [own], [pinned], [other])

        for line in (
            f"- Task the user had asked for: {TASK}",
            "- Asked after that: And the tests?",
            "- Still to do: Parse; Write",
            "- Files changed in this session, the last first: a.py, b.py",
            "- Said by the assistant shortly before: It works.",
        ):
            assert line in text.splitlines()
        assert "c.py" not in text
        assert [id_[-1] for id_ in ids] == ["1", "2", "3"]
        assert "- Files read last: c.py" in block({**saved, "files": []}, [])[0].splitlines()

    def test_a_list_ends_before_the_first_item_that_does_not_fit(self) -> None:
        text, _ = block({"items": ["a" * 70] * 4 + ["b" * 200, "c"]}, [])

        assert text.count("a" * 70) == 4 and "bb" not in text and "; c" not in text

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


class TestTodoListAndFiles:
    def test_a_todo_list_changes_with_each_call_about_it(self) -> None:
        def turns(*calls: tuple[str, dict[str, Any]]) -> list[Turn]:
            uses = [ToolUse(str(n), name, fields) for n, (name, fields) in enumerate(calls)]
            return [Turn("u", "assistant", tools=(use,)) for use in uses]

        new = [("TaskCreate", {"subject": name}) for name in ("Parse", "Write", "Read")]
        renamed = ("TaskUpdate", {"taskId": "1", "subject": "Scan"})
        unknown = ("TaskUpdate", {"taskId": "9", "status": "in_progress", "subject": "Other"})
        deleted = ("TaskUpdate", {"taskId": "2", "status": "deleted"})
        cancelled = ("TaskUpdate", {"taskId": "3", "status": "cancelled"})

        assert open_items(turns()) is None
        assert open_items(turns(unknown)) is None
        assert open_items(turns(*new, renamed, unknown)) == ["Scan", "Write", "Read"]
        assert open_items(turns(*new, deleted, cancelled)) == ["Parse"]
        whole = ("TodoWrite", {"todos": [{"content": "Stop", "status": "in_progress"}]})
        assert open_items(turns(*new, whole)) == ["Stop (in progress)"]
        assert open_items(turns(whole, new[0])) == ["Stop (in progress)", "Parse"]

    def test_only_changing_tools_with_a_path_touch_a_file(self) -> None:
        uses = [
            ToolUse("a", "Write", {"file_path": "a"}),
            ToolUse("b", "NotebookEdit", {"notebook_path": "b"}),
            ToolUse("c", "NotebookEdit", {"file_path": "c"}),
            ToolUse("d", "Read", {"file_path": "d"}),
            ToolUse("e", "MultiEdit", {"file_path": 3}),
        ]

        assert touched_files([Turn("u", "assistant", tools=(*uses,))], CHANGING_TOOLS) == ["a", "b"]

    def test_a_summary_is_used_without_its_analysis_and_tags(self) -> None:
        assert summary_text("<analysis>a\nb</analysis>\n<summary>c</summary> d") == "\nc d"
        assert summary_text("c<analysis>a\nb") == "c"
