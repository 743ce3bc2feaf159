"""Several notes of one message: its words are shown once, before the sentences about them."""

from __future__ import annotations

import re
from typing import Any

from memory_fabric.models import CONTRADICTS, QUOTATION, Record
from memory_fabric.recall.session_block import Contents, block, ranked
from memory_fabric.store.tiers import memory_md
from memory_fabric.text import ABOVE
from simulated_client import SimulatedClient

MESSAGE = (
    "Before we start: never push to the main branch, write the changelog in the present tense, "
    "indent the tables by tabs, and keep the invoices as PDF in the archive, unless I say so."
)
SENTENCES = (
    "Never push to the main branch",
    "The changelog is in the present tense",
    "Tables are indented by tabs",
    "Invoices stay in the archive as PDF",
)
AGAIN = f"“{MESSAGE[:40].rstrip()}…” above"


def note_all(client: SimulatedClient) -> None:
    """Have the assistant note four rules of one message, and another one between them."""
    client.prompt(MESSAGE)
    lines = [f'Noted rule: {sentence}. From: "{MESSAGE}"' for sentence in SENTENCES]
    client.fire("Stop", last_assistant_message="\n".join(lines[:2]))
    client.note("rule", "Always ask before a new dependency is added to the lock file")
    client.fire("Stop", last_assistant_message="\n".join(lines[2:]))


def told(client: SimulatedClient) -> str:
    """The block of another session's start, where MEMORY.md is not shown."""
    client.memory_md_file().unlink()
    environ = {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}
    client.environ |= environ
    return client.whole_context("SessionStart", "session-2", source="startup")


def assert_told_once(lines: list[str]) -> None:
    places = [n for n, line in enumerate(lines) if "Before we start" in line]
    assert len(places) == 4
    assert places == list(range(places[0], places[0] + 4))  # the group stands together
    first, *others = (lines[n] for n in places)
    assert f"“{MESSAGE}” (noted as: " in first
    assert all(f"{AGAIN} (noted as: " in line for line in others)
    assert {s for s in SENTENCES if any(s in line for line in lines)} == set(SENTENCES)


def test_a_message_quoted_by_several_records_is_shown_once_in_memory_md(
    client: SimulatedClient,
) -> None:
    note_all(client)

    text = client.memory_md_file().read_text("utf-8")

    assert_told_once([line for line in text.splitlines() if line.startswith("- [")])


def test_a_message_quoted_by_several_records_is_shown_once_at_a_session_start(
    client: SimulatedClient,
) -> None:
    note_all(client)

    assert_told_once([line for line in told(client).splitlines() if line.startswith("- [")])


def test_a_quotation_is_still_shown_once_after_its_first_record_is_forgotten(
    client: SimulatedClient,
) -> None:
    note_all(client)
    text = client.memory_md_file().read_text("utf-8")
    [first] = re.findall(r"” \(noted as: .*\n<!-- id: (\S+) -->", text)[:1]

    client.fire("UserPromptSubmit", prompt=f"forget {first[-8:]}")

    text = client.memory_md_file().read_text("utf-8")
    assert text.count(MESSAGE) == 1 and text.count(AGAIN) == 2


def test_a_message_quoted_by_several_notes_is_shown_once_in_the_notice(
    client: SimulatedClient,
) -> None:
    client.prompt(MESSAGE)
    part = MESSAGE[17:48]
    lines = [f'Noted rule: {sentence}. From: "{part}"' for sentence in SENTENCES]

    notice = client.fire("Stop", last_assistant_message="\n".join(lines))["systemMessage"]

    assert notice.count("Before we start") == 1
    assert notice.count("in your words") == 4


def test_references_to_a_quotation_are_resolved_when_memory_md_is_parsed(
    client: SimulatedClient,
) -> None:
    note_all(client)
    text = client.memory_md_file().read_text("utf-8")

    lines = memory_md.parse(text).lines

    assert sum(f"“{MESSAGE}” (noted as: " in line for line in lines.values()) == 4
    assert not any(AGAIN in line for line in lines.values())


def test_a_line_of_memory_md_gets_no_wrong_quotation_if_its_own_was_deleted(
    client: SimulatedClient,
) -> None:
    note_all(client)
    path = client.memory_md_file()
    lines = path.read_text("utf-8").splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if MESSAGE in line)

    left = memory_md.parse("".join(lines[:place] + lines[place + 2 :])).lines

    assert not any("Before we start" in line for line in left.values())
    assert any("new dependency" in line for line in left.values())


def test_a_shortened_session_start_never_refers_to_a_quotation_that_was_cut(
    client: SimulatedClient,
) -> None:
    note_all(client)
    rules = tuple(client.records())

    texts = [block(Contents(rules=rules), chars).text for chars in range(300, 1500, 20)]

    folded = [text for text in texts if AGAIN in text]
    assert folded and len(folded) < len(texts)
    assert all(MESSAGE in text.split(AGAIN)[0] for text in folded)


def test_a_quotation_is_cut_only_below_a_line_that_shows_it_in_full() -> None:
    words = "Each deploy goes through the blue environment first, without exceptions"
    texts = {"c": "N" * 900, "a": "Deploys pass blue", "b": "Rollbacks use green"}
    evidence: dict[str, Any] = {
        "c": {CONTRADICTS: ["a"]},
        "a": {QUOTATION: words},
        "b": {QUOTATION: words},
    }
    by: dict[str, Any] = {"trust": "user", "created_at": "2026-01-15T10:00:00.000Z"}
    rules = [Record("constraint", texts[i], id=i, evidence=evidence[i], **by) for i in texts]

    text = block(Contents(rules=tuple(ranked(rules, {}))), 900).text

    assert ABOVE not in text
