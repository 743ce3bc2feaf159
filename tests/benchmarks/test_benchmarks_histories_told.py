"""The parts of what hooks tell, as the benchmark of conversations tells them apart."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from replays.told import Ids, Unresolved, block_parts, cues_of, memories_of

NPM, YARN = "0198a1b2-0000-7000-8000-00001630ad9a", "0198a1b2-0000-7000-8000-0000277bd2e0"
CUE = "On record: [1630ad9a] use npm. If this changes it, note Instead of: 1630ad9a."
BLOCK = """\
<memory-fabric>
## Recent Project Decisions
- [rule · 2026-01-02 · 1630ad9a] Use npm; yarn is not noted anywhere.
Heard, not noted: note with From: [id], or drop.
- [277bd2e0] "yarn is faster on the build server"
Memory notes. End your message with one line per point.
Noted <rule|fact>: <whole sentence>.
Dropped: <id>
</memory-fabric>"""


def told(*texts: str) -> Ids:
    ids = Ids()
    ids.know([NPM, YARN])
    for text in texts:
        ids.hear(text)
    return ids


def test_an_injected_block_is_split_into_memories_review_items_and_instructions() -> None:
    parts = block_parts(BLOCK)

    assert parts.memories.endswith("yarn is not noted anywhere.\n</memory-fabric>")
    assert parts.debt.splitlines()[0] == "Heard, not noted: note with From: [id], or drop."
    assert parts.debt.endswith('build server"')
    assert parts.protocol.splitlines()[0].startswith("Memory notes.")
    assert parts.protocol.endswith("Dropped: <id>")


def test_a_cue_is_not_counted_as_a_memory() -> None:
    recalled = "Remembered from earlier work:\n- [rule · 1630ad9a] Use npm, note the lock file."

    assert cues_of(f"<memory-fabric>\n{recalled}\n{CUE}\n</memory-fabric>") == CUE
    assert memories_of(f"<memory-fabric>\n{recalled}\n{CUE}\n</memory-fabric>") == recalled
    assert memories_of(CUE) == ""


@pytest.mark.parametrize(
    ("words", "id_"),
    [("use npm", "1630ad9a"), ("  YARN is\nfaster", "277bd2e0"), ("If this changes", "1630ad9a")],
)
def test_a_placeholder_resolves_to_the_id_shown_on_the_same_line_as_its_text(
    words: str, id_: str
) -> None:
    ids = told(BLOCK, CUE)

    assert ids.resolved(f"Dropped: {{id:{words}}}") == f"Dropped: {id_}"


def test_a_placeholder_for_a_text_shown_twice_resolves_to_the_newer_id() -> None:
    ids = told("- [1630ad9a] Use a package manager.", "- [277bd2e0] Use a package manager.")

    assert ids.resolved("{id:Use a package manager}") == "277bd2e0"


@pytest.mark.parametrize("words", ["paint the hull", "", "Recent Project Decisions"])
def test_a_placeholder_is_rejected_if_its_text_was_not_shown_with_an_id(words: str) -> None:
    with pytest.raises(Unresolved):
        told(BLOCK).resolved(f"{{id:{words}}}")


def test_memory_ids_in_a_note_are_replaced_by_placeholders_with_the_memory_text() -> None:
    ids = told(BLOCK, CUE)
    note = "Noted rule: Use yarn, as in deadbeef. Instead of: 1630ad9a. From: [277bd2e0]"

    shown = ids.with_told_words(note)

    assert "{id:" in shown
    assert "1630ad9a" not in shown
    assert "277bd2e0" not in shown
    assert ids.resolved(shown) == note


def test_feedback_on_earlier_notes_is_not_counted_as_a_cue_or_a_memory() -> None:
    fed = "Kept: 1630ad9a rule (user's words). Not the user's words: “note the lock file”."

    assert cues_of(fed) == ""
    assert memories_of(f"<memory-fabric>\n{fed}\n</memory-fabric>") == ""


def test_only_known_record_ids_in_a_text_are_replaced() -> None:
    commit = "Fixed in deadbeef, see 1630ad9a"

    assert told(BLOCK).without(commit) == "Fixed in deadbeef, see id"
