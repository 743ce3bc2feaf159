"""No sentence, however it begins, stops a text, a transcript or a `remember`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory_fabric.capture import remember, unreadable
from memory_fabric.capture.contradiction import contradicted
from memory_fabric.capture.statement import statement
from memory_fabric.capture.unreadable import Unread
from memory_fabric.cli.main import main
from memory_fabric.store.home.switches import settings_of
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import counts as counted
from recall.given import USER, open_memory
from thorough import examples

# As records of decisions are written: an opening, a clause, a tail.
OPENINGS = (
    "", "Since ", "Because ", "As ", "Due to ", "So that ", "Given that ", "In the context of ",
    "Weil ", "Da ", "Parce que ", "Como ", "Puisque ", "因为", "- ", "* ", "> ", "## ", "1. ",
    "**Decision:** ", "Decision: ", "Status: ", "Context: ", "No, ", "— ", "; ", ", ", "(", "`",
    "Instead of ", "Rather than ", "To avoid ", "We no longer use ", "Also, ", "Not ",
)  # fmt: skip
CLAUSES = (
    "Redis is fast", "latency of the legacy queue", "we use PostgreSQL for orders",
    "the build takes 12 minutes", "it", "that", "ADR 7 is superseded by ADR 12", "",
    "we will use gRPC over REST", "wir nehmen Kafka statt RabbitMQ", "使用 Redis 而不是 Memcached",
    "raised the limit from 500 to 2,000 EUR", "icons are no longer inlined by svgr",
)  # fmt: skip
TAILS = (
    ", we use it for sessions.", ".", "", "; because", " because", ", so", " - ",
    " — because it is", ": ", "?", " instead", " over", " from X to",
    ", which means we decided to drop MySQL!",
    " (see docs/adr/0001.md).", " for all services except", "\n\nBecause it is fast, we use it.",
)  # fmt: skip
sentences = st.builds(
    "{}{}{}".format, st.sampled_from(OPENINGS), st.sampled_from(CLAUSES), st.sampled_from(TAILS)
)
paragraphs = st.lists(sentences, min_size=1, max_size=4).map(" ".join)
STATED = [
    f"{opening}Redis is fast, we use it for sessions."
    for opening in ("Since ", "Because ", "As we know ", "Due to ", "So that ")
]


@given(paragraphs | st.text(max_size=120))
@settings(max_examples=examples(200, 80))
@example(STATED[0])
def test_every_sentence_can_be_read_without_the_boundary(text: str) -> None:
    record = statement(text)
    old = statement("Use MySQL instead of Redis for sessions")._replace(id="1")

    assert record.what == text
    assert contradicted(record, [old]) in ([], [old])


@pytest.mark.parametrize("text", STATED)
def test_the_remember_command_accepts_a_sentence_that_begins_with_its_reason(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path / "shop"))

    assert main(["remember", text]) == 0
    assert capsys.readouterr().out


def test_an_unparsable_sentence_is_reported_without_its_text_and_counted_once(
    tmp_path: Path,
) -> None:
    memory = open_memory(tmp_path)

    def fails(text: str) -> list[str]:
        return [text.split()[99]]

    unread = Unread()
    assert unread.attempt(["default"], fails, "a private sentence") == ["default"]
    unread.report(memory)
    unread.report(memory)

    (failure,) = memory.failures
    assert "1 set aside (IndexError in " in failure
    assert "private" not in failure
    assert counted.unread(memory) == 1
    memory.close()


def test_status_shows_how_many_sentences_could_not_be_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path / "shop"))
    memory = Memory.open(settings_of({"HOME": str(tmp_path), **os.environ}))
    counted.add_unread(memory, 2)
    counted.add_unread(memory, 1)
    memory.close()

    assert main(["status"]) == 0
    assert "3 sentences could not be parsed" in capsys.readouterr().out
    assert main(["status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unread_sentences"] == 3


def test_timeouts_and_io_errors_are_not_treated_as_unparsable_sentences(tmp_path: Path) -> None:
    def locked() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        Unread().attempt(None, locked)
    assert not {OSError, MemoryError, Exception} & set(unreadable.FAULTS)


@settings(max_examples=15)
@given(texts=st.lists(paragraphs | st.text(max_size=80), min_size=1, max_size=4))
def test_a_memory_takes_any_texts_and_counts_none_as_unread(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    memory = open_memory(tmp_path_factory.mktemp("any"))

    for text in texts:
        remember.state(memory, remember.stated(memory, text or "-"), USER)

    assert (counted.unread(memory), memory.failures) == (0, [])
    memory.close()
