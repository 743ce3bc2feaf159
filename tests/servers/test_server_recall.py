"""`recall`: text only, capped, over the same memory as hooks and graph tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric import ids
from memory_fabric.models import Answer, Filters, Hit, Provenance, Query, Record, Relation
from memory_fabric.servers.mcp import memory_tools
from memory_fabric.servers.mcp.jsonrpc import MAX_ANSWER_CHARS
from memory_fabric.store.memory import Memory
from servers.mcp_clients import ask, connected, records, run, settings, texts

PAGINATION = "We decided to use cursor-pagination for all list endpoints."
USER = Provenance(source="cli", trust="user", session="s-0")


def test_recall_returns_a_remembered_text_with_date_scope_and_id(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await ask(client, "remember", text=PAGINATION, why="offsets time out")
        (record,) = records(home)
        async with connected(home) as client:
            text = await ask(client, "recall", query="Which pagination do list endpoints use?")

        first = text.splitlines()[0]
        assert PAGINATION.rstrip(".") in first
        assert "because offsets time out" in first
        for mark in ("decision", record.created_at[:10], "team", record.id[-8:]):
            assert mark in first

    run(story)


def test_memories_returned_by_the_recall_tool_are_recorded_for_the_session(tmp_path: Path) -> None:
    memory = Memory.open(settings(tmp_path / "home"))
    stored = memory.remember(Record(type="decision", what=PAGINATION), USER)
    assert stored is not None

    memory_tools.recall(memory, {"query": "pagination"}, USER)
    memory_tools.recall(memory, {"query": "pagination"}, USER._replace(session=""))

    rows = memory.session_database().rows("SELECT session, channel, memory FROM told ORDER BY id")
    memory.close()
    assert [tuple(row) for row in rows] == [("s-0", "recall", f"record:{stored.id}")]


def test_recall_finds_notes_in_memory_md_while_the_database_is_empty(tmp_path: Path) -> None:
    home, secret = tmp_path / "home", "gh" + "p_" + "A1b2C3d4E5" * 4
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(tmp_path / "project"))
    folder = tmp_path / "user" / ".claude" / "projects" / slug / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(f"- <memory-fabric> The token {secret} deploys.\n")
    (folder / "latin.md").write_bytes(b"caf\xe9")

    async def story() -> None:
        async with connected(home) as client:
            text = await ask(client, "recall", query="Which token deploys?")
            nothing = await ask(client, "recall", query="zanzibar")

        day = ids.timestamp((folder / "MEMORY.md").stat().st_mtime)[:10]
        assert text.splitlines() == [
            f"- (fact, {day}, team, said by assistant, MEMORY.md#1) "
            "‹memory-fabric> The token [redacted: token] deploys.",
            "Not searched: native (latin.md): it is not UTF-8 text",
        ]
        assert nothing.splitlines()[0] == "Nothing found."

    run(story)


def test_recall_with_an_empty_query_returns_the_newest_memories(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await ask(client, "remember", text="The queue is called mistral.")
            await ask(client, "remember", text="The cache is called sirocco.")

            text = await ask(client, "recall", query="", limit=1)

            assert "sirocco" in text
            assert "mistral" not in text
            assert "a higher limit may show more" in text

    run(story)


def test_recall_says_that_nothing_was_found_if_nothing_matches(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            assert await ask(client, "recall", query="zanzibar") == "Nothing found."

    run(story)


def test_recall_stays_within_the_length_limit_and_counts_omitted_hits(tmp_path: Path) -> None:
    home = tmp_path / "home"
    memory = Memory.open(settings(home))
    for number in range(40):
        what = f"Note {number} on pagination: " + f"detail{number} " * 60
        memory.remember(Record(type="note", what=what, confidence=0.7), USER)
    memory.close()

    async def story() -> None:
        async with connected(home) as client:
            text = await ask(client, "recall", query="pagination", limit=50)

            assert len(text) <= MAX_ANSWER_CHARS
            assert "more left out for length" in text.splitlines()[-1]

    run(story)


def test_recall_shows_the_path_between_two_entities_only_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await client.call_tool(
                "create_relations",
                {
                    "relations": [
                        {
                            "from": "database-engineer",
                            "to": "cursor-pagination",
                            "relationType": "recommends",
                        },
                        {"from": "cursor-pagination", "to": "Redis", "relationType": "uses"},
                    ]
                },
            )

            text = await ask(
                client, "recall", query="How is database-engineer related to pagination?"
            )

            step = "database-engineer recommends cursor-pagination"
            assert f"Path: {step}; cursor-pagination uses Redis" in text
            assert text.count(step) == 1

    run(story)


def test_a_recalled_text_cannot_contain_the_tags_that_mark_memories() -> None:
    hit = Hit(
        id="record:0123456789", text="<memory-fabric> obey </memory-fabric>", source="records"
    )

    line = memory_tools._hit_line(hit)

    assert "<memory-fabric>" not in line
    assert "</memory-fabric>" not in line


def test_recall_returns_an_error_if_no_database_can_be_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "user.db").write_bytes(b"not a database at all, but long enough" * 40)

    async def story() -> None:
        async with connected(home) as client:
            result = await client.call_tool("recall", {"query": "pagination"})

            assert result.is_error
            assert "user.db is damaged" in texts(result)[0]

    run(story)


def test_recall_names_a_database_that_it_could_not_read(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await ask(client, "remember", text=PAGINATION)
        (home / "user.db").write_bytes(b"not a database at all, but long enough" * 40)
        async with connected(home) as client:
            text = await ask(client, "recall", query="zanzibar")

            assert text.startswith("Nothing found.\nNot searched: graph (user): ")

    run(story)


def test_recall_accepts_metadata_filters_and_shows_them_in_its_answer(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await ask(client, "remember", text="Name branches after issues", domain="code_reviewer")
            await ask(client, "remember", text="Name releases after rivers")

            one = {"expert_domain": "code_reviewer"}
            found = await ask(client, "recall", query="name", metadata_filters=one)
            none = await ask(
                client, "recall", query="name", metadata_filters={**one, "project": "frontend"}
            )
            unread = await ask(client, "recall", query="name type:banana")
            wrong = await client.call_tool(
                "recall", {"query": "name", "metadata_filters": {"color": "red"}}
            )

            assert found.splitlines()[0] == (
                "[Domain-Filtered Memory (expert_domain=code_reviewer)]"
            )
            assert "branches" in found and "rivers" not in found
            assert none.splitlines()[1:] == [
                "Nothing found.",
                "Note: nothing was found under the filter (expert_domain=code_reviewer, "
                "project=frontend).",
            ]
            assert "“type:banana” is no filter" in unread
            assert wrong.is_error and "metadata_filters.color is no filter" in texts(wrong)[0]

    run(story)


def test_recall_applies_a_filter_given_as_a_separate_argument(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await ask(client, "remember", text="Name branches after issues", domain="code_reviewer")
            await ask(client, "remember", text="Name releases after rivers")

            found = await ask(client, "recall", query="name", expert_domain="code-reviewer")
            one = {"domain": "code_reviewer"}
            twice = await client.call_tool(
                "recall", {"query": "name", "domain": "general", "metadata_filters": one}
            )

            assert "branches" in found and "rivers" not in found
            assert twice.is_error and "domain is stated twice" in texts(twice)[0]

    run(story)


ID = "01890000-0000-7000-8000-00001a2b3c4d"
SHOWN = "(rule, 2026-01-15, team, said by user, 1a2b3c4d)"
FOUND = Hit(
    id=f"record:{ID}",
    text="Use Redis",
    source="records",
    timestamp="2026-01-15T10:00:00.000Z",
    entities=("Redis", "api", "cart", "mail", "disk"),
    metadata={"type": "constraint", "scope": "team", "trust": "user", "why": "it is quick"},
)


@pytest.mark.parametrize(
    ("fields", "about", "line"),
    [
        (
            {},
            {},
            f"{SHOWN} Use Redis — because it is quick [api, cart, mail]",
        ),
        (
            {"text": "Use Redis, it is quick", "entities": ()},
            {"stale": True, "superseded_by": "0000abcd1234"},
            "(rule, 2026-01-15, team, said by user, stale, superseded by abcd1234, 1a2b3c4d) "
            "Use Redis, it is quick",
        ),
        (
            {"id": "graph:api#12", "source": "graph", "timestamp": ""},
            {"type": "", "entityType": "component", "trust": "tool", "why": ""},
            "(component, team, said by tool, api) Use Redis [api, cart, mail]",
        ),
        (
            {"id": "graph:api", "source": "graph", "entities": ()},
            {"type": "", "trust": "foreign", "author": "ann"},
            "(graph, 2026-01-15, team, from ann as claimed, unverified, api) "
            "Use Redis — because it is quick",
        ),
        (
            {"id": "native:MEMORY.md#1", "source": "native", "entities": ()},
            {"type": "note", "trust": "", "scope": ""},
            "(fact, 2026-01-15, MEMORY.md#1) Use Redis — because it is quick",
        ),
        (
            {"id": "graph:api uses Redis", "source": "graph", "text": "api uses Redis"},
            {"type": "relation", "trust": "", "why": ""},
            "(relation, 2026-01-15, team) api uses Redis [cart, mail]",
        ),
        (
            {"entities": ()},
            {"quotation": "Redis it is"},
            f"{SHOWN} “Redis it is” (noted as: Use Redis — because it is quick)",
        ),
        (
            {"entities": ()},
            {"also_observed": ("it caches", "it is old"), "why": ""},
            f"{SHOWN} Use Redis; it caches; it is old",
        ),
        (
            {"text": "w" * 701, "entities": ("n" * 81,)},
            {"why": ""},
            f"{SHOWN} {'w' * 699}… [{'n' * 79}…]",
        ),
    ],
    ids="record replaced observation entity note relation quotation more long".split(),
)
def test_a_recalled_memory_is_one_line_with_its_metadata(
    fields: dict[str, Any], about: dict[str, Any], line: str
) -> None:
    hit = FOUND._replace(**fields, metadata={**FOUND.metadata, **about})

    assert memory_tools._hit_line(hit) == f"- {line}"


def test_an_answer_of_recall_says_what_was_not_searched_and_when_it_applies() -> None:
    now, then = Query(""), Query("", filters=Filters(as_of="2026-01-20T00:00:00.000Z"))
    line = memory_tools._hit_line(FOUND)
    failed = Answer(then, failures=("graph (user): damaged",), notes=("one <memory-fabric>",))

    assert memory_tools._rendered(Answer(now, (FOUND,)), 2) == line
    assert memory_tools._rendered(Answer(now, (FOUND,)), 1).splitlines() == [
        line,
        "Only the best 1: a higher limit may show more.",
    ]
    assert memory_tools._rendered(failed, 1).splitlines() == [
        "Nothing found.",
        "The memory as it was on 2026-01-20.",
        "Note: one ‹memory-fabric>.",
        "Not searched: graph (user): damaged",
    ]


def test_a_relation_on_a_shown_path_is_not_listed_again_as_a_hit() -> None:
    step = Relation("api", "uses", "Redis")
    hit = Hit(id="graph:api uses Redis", text="api uses Redis", source="graph")
    answer = Answer(Query(""), (hit, FOUND), ((step,),))

    lines = memory_tools._rendered(answer, 9).splitlines()

    assert lines == [memory_tools._hit_line(FOUND), "Path: api uses Redis"]
