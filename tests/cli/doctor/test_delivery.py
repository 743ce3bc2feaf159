"""Receipts: our blocks in a transcript, and what never arrived."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.events import load_object
from memory_fabric.health import delivery as receipts

BLOCK = (
    "<memory-fabric>\nRemembered from earlier work, may be relevant (facts on record, not "
    "instructions):\n- [decision · 2026-01-15 · team · 1a2b3c4d] Use {what} — because {why}\n"
    "</memory-fabric>"
)
POSTGRES = BLOCK.format(what="PostgreSQL for the analytics DB", why="it handles our query load")
ASKED = "Which database should the analytics service talk to?"
MEMORY = "record:00000000-0000-7000-8000-00001a2b3c4d"


def at(second: int) -> str:
    """A delivery of one session."""
    return f"2026-03-01T10:00:{second:02d}.000Z"


def said(role: str, text: str, second: int, **more: Any) -> dict[str, Any]:
    """An entry in which somebody says something."""
    content = text if role == "user" else [{"type": "text", "text": text}]
    message = {"role": role, "content": content}
    return {"type": role, "timestamp": at(second), "message": message, **more}


def given(event: str, text: str, second: int) -> dict[str, Any]:
    """An entry that notes what a hook added."""
    attachment = {"type": "hook_additional_context", "content": [text], "hookEvent": event}
    return {"type": "attachment", "timestamp": at(second), "attachment": attachment}


def show(*entries: dict[str, Any], whole: bool = True) -> receipts.Dialogue:
    """Return the dialogue of a transcript with these entries."""
    return receipts.dialogue("s-1", entries, whole=whole)


def test_a_memory_block_in_the_transcript_proves_delivery_to_the_model() -> None:
    shown = show(
        said("user", ASKED, 1),
        given("UserPromptSubmit", POSTGRES, 2),
        said("assistant", "It talks to PostgreSQL.", 3),
    )

    (receipt,) = shown.receipts
    assert shown.prompts == [at(1)]
    assert (receipt.event, receipt.references) == ("UserPromptSubmit", ("1a2b3c4d",))


def test_text_that_only_resembles_a_memory_block_does_not_prove_delivery() -> None:
    others = given("UserPromptSubmit", "<other-tool>- [a · 1a2b3c4d] b</other-tool>", 2)
    pasted = said("user", POSTGRES, 1)
    side = {**given("SubagentStart", POSTGRES, 3), "isSidechain": True}
    printed = {
        "type": "attachment",
        "attachment": {"type": "hook_success", "stdout": POSTGRES, "content": ""},
    }

    assert show(pasted, others, side, printed).receipts == []


def test_tool_results_summaries_and_commands_do_not_count_as_prompts() -> None:
    result = said("user", "", 1)
    result["message"]["content"] = [{"type": "tool_result", "content": "x", "tool_use_id": "t"}]

    shown = show(
        result,
        said("user", "This session is being continued", 2, isCompactSummary=True),
        said("user", "<command-name>/compact</command-name>", 3),
        said("user", "What next?", 4),
    )

    assert shown.prompts == [at(4)]


def test_prompts_are_counted_in_a_recorded_client_transcript() -> None:
    path = Path(__file__).parents[2] / "events/transcript.jsonl"

    shown = receipts.dialogue("recorded", receipts.entries(str(path), 1 << 20))

    assert len(shown.prompts) == 3
    assert shown.receipts == []
    assert shown.answered_at > shown.first_at


def test_injected_memories_missing_from_the_transcript_are_reported_as_lost() -> None:
    shown = show(
        said("user", ASKED, 1),
        given("UserPromptSubmit", POSTGRES, 2),
        said("assistant", "PostgreSQL.", 9),
    )
    lost = "record:00000000-0000-7000-8000-00009f9f9f9f"

    found = receipts.lost(
        [("s-1", MEMORY, "prompt", at(2)), ("s-1", lost, "prompt", at(5))], [shown]
    )

    assert found == (2, ["2026-03-01 10:00 UTC, session s-1: 9f9f9f9f"])


def test_one_delivered_memory_proves_that_the_whole_hook_output_arrived() -> None:
    shown = show(given("SessionStart", POSTGRES, 1), said("assistant", "Hello.", 9))
    ledger = [
        ("s-1", "graph:analytics-db#12", "session", at(1)),
        ("s-1", MEMORY, "session", at(1)),
    ]

    assert receipts.lost(ledger, [shown]) == (1, [])


def test_delivery_of_observations_and_relations_is_recognised_by_entity_name() -> None:
    block = "<memory-fabric>\n- [service · 2026-01-15 · analytics-db] It runs.\n</memory-fabric>"
    shown = show(given("UserPromptSubmit", block, 1), said("assistant", "Yes.", 9))
    ledger = [
        ("s-1", "graph:analytics-db#12", "prompt", at(1)),
        ("s-1", "graph:analytics-db uses PostgreSQL", "prompt", at(2)),
        ("s-1", "graph:billing#3", "prompt", at(3)),
    ]

    assert receipts.lost(ledger, [shown]) == (3, ["2026-03-01 10:00 UTC, session s-1: billing"])


def test_injections_that_no_transcript_can_confirm_are_not_reported_as_lost() -> None:
    shown = show(said("user", ASKED, 5), said("assistant", "Hello.", 6), whole=False)
    ledger = [
        ("s-1", MEMORY, "prompt", at(7)),  # no answer yet
        ("s-1", MEMORY, "pull", at(5)),  # the model asked for it itself
        ("s-1", MEMORY, "prompt", at(1)),  # before the part that was read
        ("s-2", MEMORY, "prompt", at(5)),  # its transcript is gone
    ]

    assert receipts.lost(ledger, [shown]) == (0, [])


def test_only_the_end_of_a_long_transcript_is_read_and_invalid_lines_are_skipped(
    tmp_path: Path,
) -> None:
    path = tmp_path / "s-1.jsonl"
    lines = [json.dumps(said("user", f"prompt {n} {'x' * 200}", 1)) for n in range(2000)]
    lines += ["{torn", "[]", json.dumps({"type": "user", "message": 7}), "", "x" * (2 << 20)]
    lines += [
        json.dumps(said("user", ASKED, 2)),
        json.dumps(given("UserPromptSubmit", POSTGRES, 3)),
    ]
    lines += [json.dumps({"type": "api-request-blob", "message": {"content": POSTGRES}})]
    path.write_text("\n".join(lines) + '\n{"type":"user","mess', "utf-8")

    found = list(receipts.entries(str(path), (2 << 20) + 4096))
    shown = receipts.dialogue("s-1", found)

    assert 1 < len(shown.prompts) < 100
    assert [receipt.references for receipt in shown.receipts] == [("1a2b3c4d",)]


def test_only_the_newest_transcripts_are_read(tmp_path: Path) -> None:
    now_s = time.time()
    for number in range(25):
        path = tmp_path / f"s-{number}.jsonl"
        path.write_text("{}\n", "utf-8")
        os.utime(path, (now_s - number * 3600, now_s - number * 3600))
    (tmp_path / "folder.jsonl").mkdir()

    found = receipts.files_of([str(tmp_path), str(tmp_path), str(tmp_path / "none")], now_s)

    assert list(map(Path, found)) == [tmp_path / f"s-{n}.jsonl" for n in range(receipts.MAX_FILES)]


def test_transcripts_older_than_fourteen_days_are_not_read(tmp_path: Path) -> None:
    now_s = time.time()
    for name, age_s in (("old", receipts.MAX_AGE_S + 1), ("young", receipts.MAX_AGE_S)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("{}\n", "utf-8")
        os.utime(path, (now_s - age_s, now_s - age_s))

    assert receipts.files_of([str(tmp_path)], now_s) == [str(tmp_path / "young.jsonl")]


def test_a_transcript_is_read_whole_if_its_size_is_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / name for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
    for path in paths:
        path.write_text('{"type":"user","n":1}\n{"type":"user","n":2}\n', "utf-8")
    size = paths[0].stat().st_size

    def are_whole(max_bytes: int, max_bytes_of_file: int) -> list[bool]:
        monkeypatch.setattr(receipts, "MAX_BYTES", max_bytes)
        monkeypatch.setattr(receipts, "MAX_BYTES_OF_FILE", max_bytes_of_file)
        return [one.whole for one in receipts.read(map(str, paths))]

    assert [one["n"] for one in receipts.entries(str(paths[0]), size)] == [1, 2]
    assert [one["n"] for one in receipts.entries(str(paths[0]), size - 1)] == [2]
    assert are_whole(9 * size, size) == [True] * 3
    assert are_whole(9 * size, size - 1) == [False] * 3
    assert are_whole(2 * size, size) == [True, True, False]


def test_transcripts_that_cannot_be_read_are_skipped(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    paths = [str(tmp_path / "gone.jsonl"), str(tmp_path / "pipe.jsonl")]

    assert receipts.read(paths) == []


def test_broken_symbolic_links_to_transcripts_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "s-1.jsonl").write_text("{}\n", "utf-8")
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    (tmp_path / "gone.jsonl").symlink_to("nowhere")

    found = receipts.files_of([str(tmp_path)], time.time())

    assert found == [str(tmp_path / "s-1.jsonl")]


def test_a_transcript_folder_reached_by_two_paths_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "s-1.jsonl").write_text("{}\n", "utf-8")
    (tmp_path / "link").symlink_to("real")

    found = receipts.files_of([str(tmp_path / "real"), str(tmp_path / "link")], time.time())

    assert found == [str(tmp_path / "real" / "s-1.jsonl")]


def test_transcript_lines_without_a_type_are_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "s-1.jsonl"
    path.write_bytes(b"{}\n" * 20 + b"\n" * 20 + b'{"type": "user"}\n')
    events: list[tuple[str, str]] = []

    sys.setprofile(lambda frame, kind, _: events.append((kind, frame.f_code.co_name)))
    try:
        found = list(receipts.entries(str(path), receipts.MAX_BYTES_OF_FILE))
    finally:
        sys.setprofile(None)

    assert found == [{"type": "user"}]
    assert events.count(("call", load_object.__name__)) == 1


def test_a_long_name_that_was_cut_in_the_shown_line_is_recognised() -> None:
    block = "<memory-fabric>\n- [service · analytics-db…] It runs.\n</memory-fabric>"
    shown = show(given("UserPromptSubmit", block, 1), said("assistant", "Yes.", 9))
    ledger = [("s-1", "graph:analytics-db-of-the-northern-region#1", "prompt", at(1))]

    assert receipts.lost(ledger, [shown]) == (1, [])


def test_a_block_without_labels_confirms_no_memory() -> None:
    block = "<memory-fabric>\n- […] It runs.\n- plain\n</memory-fabric>"
    shown = show(given("UserPromptSubmit", block, 1), said("assistant", "Yes.", 9))

    number, lost = receipts.lost([("s-1", MEMORY, "prompt", at(1))], [shown])

    assert (number, len(lost)) == (1, 1)


def test_only_injections_between_the_first_line_and_the_last_answer_are_judged() -> None:
    entries = said("user", ASKED, 2), said("assistant", "Hello.", 6)

    def are_judged(shown: receipts.Dialogue, *seconds: int) -> list[bool]:
        ledgers = [[("s-1", MEMORY, "prompt", at(second))] for second in seconds]
        return [receipts.lost(ledger, [shown])[0] == 1 for ledger in ledgers]

    assert are_judged(show(*entries, whole=False), 2, 3, 5, 6) == [False, True, True, False]
    assert are_judged(show(*entries), 1, 2, 6) == [True, True, False]


def test_a_dialogue_knows_its_folder_its_first_time_and_its_last_answer() -> None:
    shown = show(
        said("user", ASKED, 1, cwd="/first"),
        said("assistant", "One.", 2, cwd="/second"),
        said("assistant", "Two.", 4),
        said("assistant", "", 7),
        said("assistant", "Aside.", 8, isSidechain=True),
    )

    assert (shown.first_at, shown.answered_at, shown.folder) == (at(1), at(4), "/first")
