"""Any text at all, asked of a real store: no error, an answer within its limits, bounded work."""

from __future__ import annotations

import cProfile
import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memory_fabric.config import read_settings
from memory_fabric.language import concepts
from memory_fabric.recall import inject, parse
from memory_fabric.recall.explain import answer_as_json
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.recall.retrieve import GRAPH_MISSING, GRAPH_REQUIRED
from memory_fabric.store.memory import Memory
from memory_fabric.store.queries import conditions
from recall.given import NOW, USER, open_memory, pagination_graph, remember
from replay.hook_runner import HookRunner
from thorough import examples

LIMIT = 7
# Two databases with four sources each, near words, walks and cross references among them.
MOST_STATEMENTS = 160
# In a large store each spelling of each word is counted first, in each index of each database.
MOST_COUNTED = 2 * 2 * 3 * (conditions.MAX_TERMS * 2 + conditions.MAX_IN_QUORUM)
# Calls of Python functions in one recall or push; the longest text read makes half as many.
MOST_CALLS = 400_000

# Every example asks the same store, in the same way.
SUPPRESSED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]

columns = "entity text extra what why about name type rowid rank observations_fts".split()
operators = [*'AND OR NOT NEAR ( ) * ^ : - + { } , " \' ; -- /* NEAR(a b, 2) "" %'.split(), "\0"]
filters = "type: domain: since: before:7d as_of:2026 depth:3 scope:team @global session:".split()
known = "pagination cursor Redis list database-engineer PostgreSQL uses before related".split()
scripts = st.sampled_from(
    [
        "データベース移行",
        "قاعدة البيانات",
        "מסד הנתונים",
        "e\u0301\u0301\u0301",
        "İİ",
        "ß",
        "👩‍💻",
        "🏳️‍🌈",
        "\u202eabc",
    ]
)
pieces = st.one_of(
    st.sampled_from([*columns, *operators, *filters, *known]),
    scripts,
    st.text(alphabet=st.characters(categories=["L", "M", "N", "P", "S", "Z", "C"]), max_size=12),
    st.text(alphabet=st.characters(categories=["Cs", "Cc", "Mn"]), max_size=6),
)
any_text = st.lists(pieces, max_size=14).flatmap(
    lambda found: st.sampled_from(["", " ", "\n"]).map(lambda between: between.join(found))
)

MEGABYTE = 10**6
huge = {
    "one word": "pagination " * (MEGABYTE // 11),
    "many words": " ".join(f"word{n}" for n in range(MEGABYTE // 9)),
    "many known words": "Redis PostgreSQL auth db deploy error cursor " * (MEGABYTE // 45),
    "one token": "x" * MEGABYTE,
    "one token of another script": "移" * MEGABYTE,
    "camel parts": "aB" * (MEGABYTE // 2),
    "code": 'def f(x):\n    return {\'a\': [x, x[0]], "b": f"{x!r}"}\n' * (MEGABYTE // 50),
    "base64": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo" * (MEGABYTE // 35),
    "nested quotes": "\"'“" * (MEGABYTE // 3),
    "quoted words": '"cursor pagination" ' * (MEGABYTE // 20),
    "filters": 'type:"decision" ' * (MEGABYTE // 16),
    "agents": "database-engineer code-reviewer " * (MEGABYTE // 32),
    "open fences": "<memory-fabric>" * (MEGABYTE // 15),
    "line breaks": "\n" * MEGABYTE,
    "NUL": "\0" * MEGABYTE,
    "surrogates": "\ud800" * MEGABYTE,
    "combining marks": "e" + "\u0301" * MEGABYTE,
}
# In a large store words are counted first, so that only the number of different ones matters there.
HUGE = [("small", kind) for kind in huge]
HUGE += [("large", kind) for kind in ("many words", "many known words", "code", "quoted words")]


def fill(memory: Memory) -> None:
    """Something in every source of both databases."""
    pagination_graph(memory)
    remember(memory, "Pagination uses opaque cursors", names=["cursors"])
    remember(memory, "I like pagination by cursor", type="preference", scope="user")
    said = ["pagination was slow for lists", "then use cursor pagination", "データベース移行 done"]
    turns = [
        {"id": f"u{n}", "session": "s0", "role": "user", "text": text, "created_at": USER.at}
        for n, text in enumerate(said)
    ]
    memory.write("add_episodes", {"episodes": turns}, USER)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    memory = open_memory(tmp_path_factory.mktemp("store"))
    fill(memory)
    yield memory
    memory.close()


@pytest.fixture(params=["small", "large"])
def fabric(
    request: pytest.FixtureRequest, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> Fabric:
    """A real store; as `large` it is asked as one of a million rows would be."""
    if request.param == "large":
        for name in ("COMMON_FROM_ROWS", "RANKED_ROWS", "COUNTED_ROWS", "SAMPLED_ROWS"):
            monkeypatch.setattr(conditions, name, 1)
    return Fabric(memory, NOW)


@contextmanager
def traced(memory: Memory) -> Iterator[list[str]]:
    """The statements of a block, without those that the full-text index makes for itself."""
    statements: list[str] = []

    def note(statement: str) -> None:
        if not statement.startswith("--"):
            statements.append(statement)

    for database in memory.databases():
        database.connection.set_trace_callback(note)
    try:
        yield statements
    finally:
        for database in memory.databases():
            database.connection.set_trace_callback(None)


def ask_everything(fabric: Fabric, text: str) -> list[list[str]]:
    """The statements of a recall, a push and a subagent's start with this text, all checked."""
    made = ask(fabric, text)
    with traced(fabric.memory) as statements:
        given = fabric.inject_for_agent(text[:300], [text, f"Task\n{text}"])
    made.append(statements)
    assert len(given.text.encode().decode()) <= inject.AGENT_CHARS
    return made


def ask(fabric: Fabric, text: str) -> list[list[str]]:
    """The statements of a recall and of a push with this text, both checked."""
    made = []
    with traced(fabric.memory) as statements:
        answer = fabric.recall(text, limit=LIMIT)
    made.append(statements)
    assert len(answer.hits) <= LIMIT
    assert answer.failures == ()
    assert json.loads(json.dumps(answer_as_json(answer), ensure_ascii=False).encode())
    with traced(fabric.memory) as statements:
        injection = fabric.inject_for_prompt(text)
    made.append(statements)
    assert len(injection.ids) <= inject.MAX_HITS
    assert len(injection.text.encode().decode()) <= inject.PROMPT_CHARS
    return made


def most(fabric: Fabric) -> int:
    memory = fabric.memory
    is_large = conditions.COMMON_FROM_ROWS == 1
    assert len(memory.databases()) == 2
    return MOST_STATEMENTS + (MOST_COUNTED if is_large else 0)


@given(any_text)
@example('"')
@example("NEAR(")
@example("text:*")
@example("\ud800 pagination\0cursor")
@example('"pagination AND" OR entity: ^cursor*')
@settings(max_examples=examples(100, 12), suppress_health_check=SUPPRESSED)
def test_any_text_is_answered_within_its_limits_and_a_bounded_number_of_statements(
    fabric: Fabric, text: str
) -> None:
    recall, injection, agent = ask_everything(fabric, text)

    assert len(recall) <= most(fabric)
    assert len(injection) <= most(fabric)
    assert len(agent) <= 6 * most(fabric)  # two tasks, each asked as up to three questions


@given(any_text)
@settings(max_examples=examples(100, 12), suppress_health_check=SUPPRESSED)
def test_what_stands_among_signs_of_the_index_is_still_found(fabric: Fabric, text: str) -> None:
    """A law that a search which gives up on odd text would break: the word is there all along."""
    # What could be a filter, a phrase, a fence or a word left out has its own meaning.
    plain = text.translate(dict.fromkeys(map(ord, '":“”<>@-')))
    words = " ".join(plain.split()[:8])

    answer = fabric.recall(f"pagination {words}", limit=50)

    assert any("agination" in hit.text for hit in answer.hits)


@pytest.mark.parametrize(("fabric", "kind"), HUGE, indirect=["fabric"])
def test_a_prompt_of_one_megabyte_runs_the_same_sql_queries_as_its_beginning(
    fabric: Fabric, kind: str
) -> None:
    text = huge[kind]
    assert len(text) > 0.9 * MEGABYTE
    ask(fabric, "pagination")  # how large the store is, is asked once a connection

    whole = ask_everything(fabric, text)

    # A subagent's task is read at both its ends, all else at its beginning.
    assert whole[:2] == ask(fabric, text[: parse.MAX_CHARS])
    assert max(map(len, whole[:2])) <= most(fabric)
    assert len(whole[2]) <= 6 * most(fabric)
    asked = parse.parse(text, now=NOW)
    assert len(asked.terms) <= parse.MAX_TERMS
    assert len(asked.text) <= parse.MAX_CHARS
    for statement in (s for statements in whole for s in statements if " MATCH " in s):
        most_words = conditions.MAX_TERMS * conditions.MAX_IN_QUORUM
        # The words are counted twice: escaped in JSON, and so in what the trace shows.
        most_words = 2 * parse.MAX_TERMS if "j.key, (SELECT count" in statement else most_words
        assert statement.count('"') <= 2 * most_words


@pytest.mark.parametrize(("fabric", "kind"), HUGE, indirect=["fabric"])
def test_a_prompt_of_a_megabyte_makes_a_limited_number_of_function_calls(
    fabric: Fabric, kind: str
) -> None:
    before = sys.getprofile()
    for ask_once in (fabric.recall, fabric.hits_to_inject):
        concepts.concepts.cache_clear()
        profile = cProfile.Profile()
        try:
            profile.runcall(ask_once, huge[kind])
        finally:
            sys.setprofile(before)
        calls = sum(entry.callcount for entry in profile.getstats())
        assert 0 < calls <= MOST_CALLS


def test_the_prompt_hook_answers_a_megabyte_with_nul_characters_and_surrogates(
    tmp_path: Path,
) -> None:
    hooks = HookRunner(tmp_path)
    unit = 'use cursor pagination \0 \ud83d and \udc00 in lists \\" 移行 '
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s1",
        "prompt": unit * (MEGABYTE // len(unit)),
    }
    data = json.dumps(event).encode()
    assert b"\\u0000" in data
    assert b"\\ud83d" in data

    result = hooks.run(data)

    assert result.status == 0
    assert result.stdout == b"" or result.reply
    assert not [line for line in hooks.log if "failed" in line or "not answered" in line]


# What damage is like where SQLite can see it; the rest is found by the checks of the doctor only.
DAMAGES = (
    "DELETE FROM {index}_data",
    "UPDATE {index}_data SET block = x'ffffffffffffffff'",
    "DELETE FROM {index}_data WHERE id > 10",
    "DELETE FROM {index}_data WHERE id = 10",
    "DELETE FROM {index}_docsize",
)
SOURCES = {
    "observations_fts": "graph",
    "records_fts": "records",
    "episodes_fts": "episodes",
    "entities_fts": "entities",
}


def damage(path: str, index: str, how: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        changed = connection.execute(how.format(index=index)).rowcount
    connection.close()
    assert changed > 0


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize(("index", "source"), SOURCES.items())
def test_recall_reports_a_corrupt_source_and_still_searches_the_other_sources(
    tmp_path: Path, index: str, source: str, how: str
) -> None:
    first = open_memory(tmp_path)
    fill(first)
    path = first.path_of("project")
    first.close()
    damage(path, index, how)
    memory = open_memory(tmp_path)

    answer = Fabric(memory, NOW).recall("cursor pagination for lists")
    hits = Fabric(memory, NOW).hits_to_inject("use cursor pagination for the lists", max_hits=6)
    memory.close()

    assert {failure.partition(" (")[0] for failure in answer.failures} == {source}
    assert all("(project)" in failure for failure in answer.failures)
    found = {hit.source for hit in answer.hits if hit.metadata["store"] == "project"}
    # An entity's name still finds what it says where the index of its words is broken.
    assert found == {"graph", "records", "episodes"} - {source} | {"graph"}
    assert {hit.source for hit in hits} >= {"graph", "records"} - {source}
    assert json.dumps(answer_as_json(answer))


def test_the_answer_reports_that_the_graph_is_missing_if_the_only_graph_is_corrupt(
    tmp_path: Path,
) -> None:
    first = open_memory(tmp_path)
    remember(first, "Pagination uses opaque cursors", names=["cursors"])
    path = first.path_of("project")
    first.close()
    damage(path, "observations_fts", DAMAGES[0])
    memory = open_memory(tmp_path)

    answer = Fabric(memory, NOW).recall("opaque pagination")
    memory.close()

    assert [hit.source for hit in answer.hits] == ["records"]
    assert GRAPH_MISSING in answer.failures
    assert GRAPH_REQUIRED not in answer.failures


@pytest.mark.parametrize("index", SOURCES)
def test_the_prompt_hook_still_injects_memories_if_one_source_is_corrupt(
    tmp_path: Path, index: str
) -> None:
    hooks = HookRunner(tmp_path)
    memory = Memory.open(read_settings(hooks.environ, {}))
    fill(memory)
    path = memory.path_of("project")
    memory.close()
    damage(path, index, DAMAGES[0])

    result = hooks.say("use cursor pagination for the lists of PostgreSQL")

    assert result.status == 0
    assert "agination" in result.context
    assert not [line for line in hooks.log if "not answered" in line]
