"""Queries of the full-text indexes: quorums against brute force, and what large stores keep."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.models import Provenance
from memory_fabric.store.database import Database
from memory_fabric.store.queries import conditions as fts_query
from memory_fabric.store.queries import search
from memory_fabric.store.queries.conditions import match_expression, selective_query
from memory_fabric.store.queries.reader import Reader
from store.support import USER, World, create, database, decision, entity

LETTERS = "abcdef"
ROWS = 300
# The words of the filled store, by how many of its rows hold them.
FREQUENT = ("north", "south", "east", "west", "centre")
RARE, ALONE = "gneiss", "obsidian"
INDEXES = ("observations_fts", "records_fts", "episodes_fts")
LIMIT = 5


@pytest.fixture(scope="module")
def sets() -> Iterator[sqlite3.Connection]:
    """One row for each set of the letters: its number, in bits, says which it holds."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (text)")
    for bits in range(1, 2 ** len(LETTERS)):
        held = " ".join(f"word{c}" for i, c in enumerate(LETTERS) if bits >> i & 1)
        connection.execute("INSERT INTO t (rowid, text) VALUES (?, ?)", (bits, held))
    yield connection
    connection.close()


@given(
    conditions=st.lists(
        st.lists(st.integers(0, len(LETTERS) - 1), min_size=1, max_size=3), min_size=1, max_size=5
    ),
    data=st.data(),
)
def test_a_quorum_matches_exactly_the_rows_with_that_many_terms(
    sets: sqlite3.Connection, conditions: list[list[int]], data: st.DataObject
) -> None:
    needed = data.draw(st.integers(1, len(conditions)))
    of = [match_expression(f"word{LETTERS[i]}" for i in group) for group in conditions]

    asked = fts_query._at_least(needed, of)

    found = {row for (row,) in sets.execute("SELECT rowid FROM t WHERE t MATCH ?", (asked,))}
    assert found == {
        bits
        for bits in range(1, 2 ** len(LETTERS))
        if sum(any(bits >> i & 1 for i in group) for group in conditions) >= needed
    }


class Large:
    """A store, and the text of each row of each index."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.texts = {
            "observations_fts": dict(db.rows("SELECT id, text FROM observations")),
            "records_fts": dict(db.rows("SELECT seq, what FROM records")),
            "episodes_fts": dict(db.rows("SELECT id, text FROM episodes")),
        }

    def found(self, index: str, asked: str) -> set[int]:
        """The rows that an expression matches; none for the empty one, as in search."""
        sql = f"SELECT rowid FROM {index} WHERE {index} MATCH ?"
        return {row for (row,) in self.db.rows(sql, (asked,))} if asked else set()

    def asked(self, index: str, groups: Sequence[Sequence[str]]) -> set[int]:
        """The rows that are worth ranking for these groups."""
        return self.found(index, selective_query(self.db, index, groups, LIMIT))

    def holding(self, index: str, *words: str) -> set[int]:
        """The rows that hold all of the words."""
        return {r for r, t in self.texts[index].items() if set(words) <= set(t.split())}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    chance = random.Random(17)
    texts = []
    for n in range(ROWS):
        held = [w for w in FREQUENT if chance.random() < 0.4]
        held += [RARE] if n in (3, 150, 290) else []
        texts.append(" ".join([f"stone{n}", *held]))
    texts[7] = f"stone7 {ALONE}"
    texts[11] = "stone11 " + " ".join(FREQUENT)
    memory = World(tmp_path_factory.mktemp("large")).memory()
    create(memory, *(entity(f"place{n}", text) for n, text in enumerate(texts)))
    memory.write(
        "add_episodes",
        {
            "episodes": [
                {"id": f"u{n}", "session": "s0", "role": "user", "text": t, "created_at": USER.at}
                for n, t in enumerate(texts)
            ]
        },
        Provenance("prompt", "user"),
    )
    for text in texts:
        memory.remember(decision(text), USER)
    yield Large(database(memory))
    memory.close()


@pytest.fixture(autouse=True)
def scaled_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """The constants as they would be for a store some thousand times as large."""
    monkeypatch.setattr(fts_query, "COMMON_FROM_ROWS", 10)
    monkeypatch.setattr(fts_query, "RANKED_ROWS", 20)
    monkeypatch.setattr(fts_query, "COUNTED_ROWS", 10)
    monkeypatch.setattr(fts_query, "SAMPLED_ROWS", 60)


@pytest.mark.parametrize("index", INDEXES)
def test_each_full_text_index_finds_all_texts_with_a_word(large: Large, index: str) -> None:
    assert len(large.texts[index]) > 0.9 * ROWS  # records that all but repeat another are one
    assert large.found(index, "north") == large.holding(index, "north")


some_words = st.lists(st.sampled_from([*FREQUENT, RARE, ALONE, "unheard"]), unique=True, min_size=1)


@pytest.mark.parametrize("index", INDEXES)
@given(some_words)
def test_rows_with_a_rare_word_or_with_all_terms_are_always_found(
    large: Large, index: str, asked: list[str]
) -> None:
    found = large.asked(index, [[word] for word in asked])

    for word in (RARE, ALONE):
        if word in asked:
            assert large.holding(index, word) <= found
    heard = [word for word in asked if word != "unheard"]
    assert found == set() if not heard else large.holding(index, *heard) <= found


@pytest.mark.parametrize("index", INDEXES)
@given(st.lists(st.sampled_from(FREQUENT), unique=True, min_size=1))
def test_rows_with_equally_many_of_the_rarest_frequent_terms_are_all_found(
    large: Large, index: str, asked: list[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fts_query, "SAMPLED_ROWS", 2 * ROWS)  # each word is counted, none estimated
        found = large.asked(index, [[word] for word in asked])

    decisive = sorted(asked, key=lambda word: len(large.holding(index, word)))[
        : fts_query.MAX_IN_QUORUM
    ]
    held = {row: len({*decisive} & {*text.split()}) for row, text in large.texts[index].items()}
    least = min(held[row] for row in found)
    assert found == {row for row, count in held.items() if count >= least}
    # As few as still leave room to choose; or, where even one of all is asked, whatever there is.
    more = sum(count > least for count in held.values())
    assert more < fts_query.SPARE * LIMIT


@pytest.mark.parametrize("index", INDEXES)
def test_alternative_spellings_count_as_one_search_term(large: Large, index: str) -> None:
    groups = [["north", "south"], ["east", "west"], ["centre"]]

    found = large.asked(index, groups)

    most = {r for r, t in large.texts[index].items() if all({*g} & {*t.split()} for g in groups)}
    assert most <= found
    only = large.holding(index, "north", "south") - large.holding(index, "centre")
    only -= large.holding(index, "east") | large.holding(index, "west")
    assert only
    assert not only & found


def test_only_the_rarest_term_is_searched_for_if_the_frequent_terms_never_occur_together(
    tmp_path: Path,
) -> None:
    memory = World(tmp_path).memory()
    texts = [
        ["said before", "said since", "said since", "done", "done"][n % 5] + f" {n}"
        for n in range(120)
    ]
    create(memory, entity("story", *texts))
    db = database(memory)

    found = db.rows(
        "SELECT text FROM observations_fts WHERE observations_fts MATCH ?",
        (selective_query(db, "observations_fts", [["since"], ["before"], ["hence"]], LIMIT),),
    )
    memory.close()

    assert sorted(text for (text,) in found) == sorted(texts[::5])


@pytest.mark.parametrize("index", INDEXES)
def test_a_query_with_few_matches_keeps_all_its_terms(
    large: Large, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [["north"], ["south", "unheard"], [RARE]]

    pruned = selective_query(large.db, index, asked, LIMIT)
    monkeypatch.setattr(fts_query, "RANKED_ROWS", ROWS)
    assert (
        selective_query(large.db, index, asked, LIMIT) == '"north" OR "south" OR "gneiss"' != pruned
    )
    monkeypatch.setattr(fts_query, "COMMON_FROM_ROWS", ROWS + 1)
    assert (
        selective_query(large.db, index, asked, LIMIT)
        == '"north" OR "south" OR "unheard" OR "gneiss"'
    )


def test_a_query_with_a_phrase_searches_only_for_the_phrase(large: Large) -> None:
    assert (
        selective_query(large.db, INDEXES[0], [["north"]], LIMIT, ["stone7 obsidian"])
        == '"stone7 obsidian"'
    )


def test_a_query_of_unknown_words_only_matches_nothing(
    large: Large,
) -> None:
    assert selective_query(large.db, INDEXES[0], [["unheard"], ["never"]], LIMIT) == ""


def test_only_the_newest_observations_with_a_very_frequent_name_are_found(
    large: Large, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(*names: str) -> set[str]:
        hits = Reader(large.db).observations_with(names, ROWS, search.EVERYTHING)
        return {hit.text for hit in hits}

    index = INDEXES[0]
    named = [large.texts[index][row] for row in sorted(large.holding(index, "north"))]
    newest = found("north")
    assert newest == set(named[-len(newest) :])
    assert 5 <= len(newest) <= 15  # estimated; half of those that are ranked
    assert found(RARE) == {large.texts[index][row] for row in large.holding(index, RARE)}
    assert found("unheard") == found() == set()
    monkeypatch.setattr(fts_query, "RANKED_ROWS", ROWS)
    assert found("north") == set(named)


def statements(db: Database, index: str, groups: Sequence[Sequence[str]]) -> int:
    made: list[str] = []
    db.connection.set_trace_callback(made.append)
    selective_query(db, index, groups, LIMIT)
    db.connection.set_trace_callback(None)
    return sum(not statement.startswith("--") for statement in made)


@pytest.mark.parametrize("index", INDEXES)
def test_a_query_of_many_words_is_planned_with_a_limited_number_of_statements(
    large: Large, index: str
) -> None:
    words = [*FREQUENT, RARE, *(f"stone{n}" for n in range(200))]
    each_alone = [[word] for word in words]
    # One for the rows, two to count and sample a word, one for each quorum that is tried.
    most = 1 + fts_query.MAX_LOOKED_UP + fts_query.MAX_TERMS + fts_query.MAX_IN_QUORUM

    assert 1 < statements(large.db, index, each_alone) <= most
    assert 1 < statements(large.db, index, [words]) <= most
    unheard = [[f"unheard{n}"] for n in range(500)]
    assert statements(large.db, index, unheard) <= most


@pytest.mark.parametrize(("word", "rows"), [("north", None), (RARE, 3), (ALONE, 1), ("unheard", 0)])
def test_the_row_count_of_a_rare_word_is_exact_and_that_of_a_frequent_word_estimated(
    large: Large, word: str, rows: int | None
) -> None:
    counted = fts_query._rows_with(large.db, "records_fts", f'"{word}"', ROWS)

    if rows is not None:
        assert counted == rows
    else:
        assert counted == pytest.approx(len(large.holding("records_fts", word)), rel=0.3)


def test_a_frequent_word_that_is_missing_in_the_newest_rows_still_counts_as_frequent(
    tmp_path: Path,
) -> None:
    memory = World(tmp_path).memory()
    texts = ["said before"] * 200 + ["said since"] * 100
    create(memory, entity("story", *(f"{text} {n}" for n, text in enumerate(texts))))

    found = fts_query._rows_with(database(memory), "observations_fts", '"before"', 300)
    memory.close()

    assert found >= fts_query.COUNTED_ROWS
