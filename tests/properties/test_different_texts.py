"""Two different texts are never one: each is stored, and found by its own name."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from memory_fabric.capture import remember
from memory_fabric.cli.main import main
from memory_fabric.ingest import parts
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.models import Hit, Record
from memory_fabric.recall.normalize import dedupe
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.store.queues.ingest_queue import Claimed
from memory_fabric.text import same_form
from recall.given import NOW, USER, open_memory

LOOKALIKES = {"a": "а", "e": "е", "o": "ο", "i": "ı", "s": "ѕ"}
PAIRS = [
    ("node1", "node11"),
    ("worker7", "worker77"),
    ("server2", "server22"),
    ("nodeA", "nodea"),
    ("Straße", "Strasse"),
    ("İzmir", "izmir"),
    ("аpi", "api"),
    ("batch-1", "batch1"),
    ("http404", "http4040"),
]
SENTENCES = (
    "We decided to retire {} because it is old",
    "We use {} for all of the nightly jobs of the billing service and for nothing else at all",
)

names = st.from_regex(r"[a-z]{3,8}[0-9]{0,3}", fullmatch=True)


@st.composite
def near_names(draw: st.DrawFn) -> tuple[str, str]:
    """Two names that differ in one character, its case or script, or one more at the end."""
    name = draw(names)
    place = draw(st.integers(0, len(name) - 1))
    letter = name[place]
    other = draw(
        st.sampled_from("abxyz0127-")
        | st.just(letter * 2)
        | st.just(letter.upper())
        | st.just(LOOKALIKES.get(letter, "ß"))
    )
    changed = name[:place] + other + name[place + 1 :]
    return name, draw(st.sampled_from([changed, name + name[-1]]))


def stored(folder: Path, texts: list[str]) -> tuple[list[str], list[list[str]]]:
    """Return what memory has of these texts, and what recall finds for each of them."""
    memory = open_memory(folder)
    try:
        for text in texts:
            remember.state(memory, Record("decision", text, confidence=0.9), USER)
        found = [[hit.text for hit in Fabric(memory, NOW).recall(t).hits] for t in texts]
        return [record.what for record in memory.find_records("1")], found
    finally:
        memory.close()


@settings(max_examples=25)
@given(near_names(), st.sampled_from(SENTENCES))
@example(("node1", "node11"), SENTENCES[0])
@example(("nodeA", "nodea"), SENTENCES[1])
@example(("Straße", "Strasse"), SENTENCES[1])
def test_names_that_differ_in_one_character_are_two_records(
    pair: tuple[str, str], sentence: str
) -> None:
    texts = [sentence.format(name) for name in pair]
    assume(same_form(texts[0]) != same_form(texts[1]))
    assume(pair[1][0] != "-")  # "-api" in a question leaves api out

    with TemporaryDirectory() as folder:
        kept, found = stored(Path(folder), texts)

    assert sorted(kept) == sorted(texts)
    assert all(text in hits for text, hits in zip(texts, found, strict=True))


@pytest.mark.parametrize("pair", PAIRS)
def test_recall_returns_both_records_whose_names_differ_slightly(pair: tuple[str, str]) -> None:
    hits = [
        Hit(f"record:{n}", SENTENCES[1].format(name), "records", NOW, 0.5)
        for n, name in enumerate(pair)
    ]

    assert len(dedupe(hits)) == 2


@given(near_names())
def test_ingest_keeps_both_of_two_stated_decisions(pair: tuple[str, str]) -> None:
    texts = tuple(SENTENCES[0].format(name) for name in pair)
    assume(same_form(texts[0]) != same_form(texts[1]))
    came = Claimed("i1", Ingest("", key_decisions=texts), 1, NOW)

    assert [record.what for record in parts.records(came, {})] == list(texts)


def test_remember_reports_a_sentence_as_known_only_if_the_name_in_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path / "shop"))

    told = []
    for name in ("node1", "node11", "NODE11", "node111"):
        assert main(["remember", SENTENCES[0].format(name)]) == 0
        told.append("Already known" in capsys.readouterr().out)

    assert told == [False, False, True, False]


@given(st.text(max_size=40))
def test_white_space_a_full_stop_and_shouting_make_no_other_text(text: str) -> None:
    assert same_form(f"  {text.strip()} ") == same_form(text)
    plain = "".join(c for c in text if c.isascii() and (c.islower() or c.isspace()))
    assert same_form(plain.upper() + "!") == same_form(plain)
    assert same_form(same_form(text)) == same_form(text)
