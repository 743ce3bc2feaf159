"""`remember`: text only, capped, over the same memory as hooks and graph tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory_fabric.models import Provenance, Record
from memory_fabric.servers.mcp.jsonrpc import MAX_ANSWER_CHARS
from memory_fabric.store.memory import Memory
from servers.mcp_clients import ask, connected, records, run, settings, texts

PAGINATION = "We decided to use cursor-pagination for all list endpoints."
USER = Provenance(source="cli", trust="user", session="s-0")


@pytest.mark.parametrize("text", ["", " \n\t", "… — !?", "🎉"])
def test_remember_refuses_an_empty_text(tmp_path: Path, text: str) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            result = await client.call_tool("remember", {"text": text})
            assert result.is_error
            assert "The text is empty." in texts(result)[0]

    run(story)

    assert list(home.glob("projects/*/graph.db")) == []


def test_remember_stores_a_record_and_returns_its_type_id_scope_and_entities(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            text = await ask(
                client,
                "remember",
                text=PAGINATION,
                why="offsets time out at 1M rows",
                alternatives=["offset pagination"],
                entities=["list-endpoints"],
            )
            (record,) = records(home)
            assert text.splitlines()[0] == (
                f"Remembered as decision {record.id[-8:]} (scope team): {PAGINATION}"
            )
            assert "list-endpoints" in text.splitlines()[1]
            assert "cursor-pagination" in text.splitlines()[1]

    run(story)

    (record,) = records(home)
    assert record.why == "offsets time out at 1M rows"
    assert record.alternatives == ("offset pagination",)
    assert record.confidence >= 0.9
    assert (record.source, record.trust, record.session) == ("mcp", "assistant", "s-1")


def test_a_remembered_decision_links_the_project_to_the_chosen_option(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            await ask(client, "remember", text=PAGINATION, type="decision")

            view = (await client.call_tool("read_graph", {})).structured_content

        assert {"from": "project", "to": "cursor-pagination", "relationType": "chose"} in (
            view["relations"]
        )

    run(story)


def test_a_plain_statement_is_stored_as_a_note(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await ask(client, "remember", text="The staging box is called zephyr.")

    run(story)

    (record,) = records(home)
    assert record.type == "note"
    assert record.confidence >= 0.7


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (PAGINATION, "decision"),
        ("Never log request bodies.", "constraint"),
        ("I prefer tabs over spaces.", "preference"),
    ],
)
def test_remember_derives_the_type_from_the_text_if_no_type_is_given(
    tmp_path: Path, text: str, kind: str
) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await ask(client, "remember", text=text)

    run(story)

    assert [record.type for record in records(home)] == [kind]


def test_remember_stores_the_given_type_scope_domain_and_pin(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await ask(
                client,
                "remember",
                text="I like short answers.",
                type="preference",
                scope="user",
                domain="writing",
                pinned=True,
            )

    run(story)

    (record,) = records(home)
    assert (record.type, record.scope, record.domain) == ("preference", "user", "writing")
    assert record.pinned
    assert (home / "user.db").exists()


def test_remember_accepts_the_same_fields_as_notes_of_the_assistant(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await ask(
                client,
                "remember",
                text="Never start the dev server.",
                kind="rule",
                when="npm run dev",
                also="hot reload",
                **{"for": "everywhere", "from": "I'll run the server myself"},
            )

    run(story)

    (record,) = records(home)
    assert (record.type, record.scope, record.trust) == ("constraint", "user", "assistant")
    assert record.evidence == {"when": "npm run dev", "also": "hot reload"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"kind": "thought"}, "There is no type 'thought'"),
        ({"kind": "rule", "type": "note"}, "type and kind are one field"),
        ({"for": "Bob"}, "for only takes everywhere"),
        ({"for": "everywhere", "scope": "team"}, "contradicts scope team"),
        ({"instead_of": "0123abcd"}, "No memory has the id '0123abcd'"),
    ],
    ids=str,
)
def test_remember_refuses_invalid_fields_with_an_error(
    tmp_path: Path, arguments: dict[str, str], problem: str
) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            result = await client.call_tool("remember", {"text": "Use tabs.", **arguments})
            assert result.is_error
            assert problem in texts(result)[0]

    run(story)

    assert records(home) == []


def test_remember_replaces_a_named_record_of_the_assistant_but_not_of_the_user(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    memory = Memory.open(settings(home))
    users = memory.remember(Record(type="note", what="Use yarn here.", confidence=0.8), USER)
    memory.close()
    assert users is not None

    async def story() -> None:
        async with connected(home) as client:
            await ask(client, "remember", text="Use npm for the packages.")
            (old,) = records(home, "what LIKE '%npm%'")
            hint = await ask(client, "remember", text="Use pnpm instead of npm for the packages.")
            done = await ask(
                client,
                "remember",
                text="Use pnpm instead of npm for the packages.",
                instead_of=f"[{old.id[-8:]}]",
            )
            kept = await ask(client, "remember", text="Use bun.", instead_of=users.id[-8:])

        assert f"call remember again with instead_of {old.id[-8:]}" in hint
        assert f"Replaces decision {old.id[-8:]}" in done
        assert f"Not replaced, since only the user can: fact {users.id[-8:]}" in kept

    run(story)

    (bun,) = records(home, "what = 'Use bun.'")
    assert [r.what for r in records(home, "superseded_by <> ''")] == ["Use npm for the packages."]
    assert bun.evidence == {"contradicts": [users.id]}


@pytest.mark.parametrize("names_id", [True, False])
def test_remember_replaces_a_record_from_when_the_clock_was_ahead(
    tmp_path: Path, names_id: bool
) -> None:
    memory = Memory.open(settings(home := tmp_path / "home"))
    text, ahead = "Use npm for the packages.", "2099-01-01T00:00:00.000Z"
    by = Provenance("mcp", trust="assistant")
    old = memory.remember(Record("decision", text, confidence=0.8, valid_from=ahead), by)
    memory.close()
    assert old is not None

    async def story() -> None:
        async with connected(home) as client:
            name = old.id[-8:] if names_id else text
            done = await ask(client, "remember", text="Use pnpm here.", instead_of=name)
            assert f"Replaces decision {old.id[-8:]}" in done

    run(story)


def test_a_replaced_option_that_matches_no_record_is_stored_as_a_rejected_alternative(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await ask(client, "remember", text="Use bun.", instead_of="yarn")

    run(story)

    assert records(home)[0].alternatives == ("yarn",)


def test_remember_replaces_a_record_identified_by_a_word_if_no_other_record_matches(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await ask(client, "remember", text="Packages are installed with npm.")
            text = "Packages are installed with pnpm."
            done = await ask(client, "remember", text=text, instead_of="npm")
            assert "Replaces fact" in done

    run(story)

    assert [r.what for r in records(home, "superseded_by <> ''")] == [
        "Packages are installed with npm."
    ]


def test_remembering_a_known_text_returns_the_id_of_its_existing_record(tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await ask(client, "remember", text=PAGINATION)

            again = await ask(client, "remember", text=PAGINATION)

            (record,) = records(home)
            assert again.startswith(f"Known already: decision {record.id[-8:]}")

    run(story)


def test_the_answer_of_remember_says_which_entities_are_new(tmp_path: Path) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            first = await ask(client, "remember", text=PAGINATION)
            second = await ask(
                client, "remember", text="We chose cursor-pagination over offset-pagination."
            )

        assert first.splitlines()[1] == (
            "Entities: cursor-pagination (new), list-endpoints (new), project (new); "
            "in the graph: 3 observations, 2 relations"
        )
        assert "offset-pagination (new)" in second.splitlines()[1]
        assert "cursor-pagination (new)" not in second.splitlines()[1]

    run(story)


def test_remember_reports_an_earlier_contradicting_record_without_replacing_it(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"

    async def story() -> None:
        async with connected(home) as client:
            await ask(
                client,
                "remember",
                text="Offset pagination caused timeouts at 1M rows <memory-fabric>",
                type="antipattern",
                why="it scans",
            )
            (failed,) = records(home)
            text = await ask(client, "remember", text="Use offset-pagination for all lists.")

        (line,) = [line for line in text.splitlines() if line.startswith("To the contrary: ")]
        assert line == (
            f"To the contrary: earlier, {failed.created_at[:10]}: failed: "
            f"{failed.what.replace('<', '‹')} ({failed.id[-8:]})"
        )

    run(story)

    assert [record.superseded_by for record in records(home)] == ["", ""]


def test_remembering_an_antipattern_without_a_lesson_asks_for_the_lesson(tmp_path: Path) -> None:
    home = tmp_path / "home"
    text = "Offset pagination caused timeouts"

    async def story() -> None:
        async with connected(home) as client:
            without = await ask(client, "remember", text=text, type="antipattern")
            completed = await ask(
                client, "remember", text=text, type="antipattern", why="instead: use cursors"
            )

        assert without.splitlines()[-1].startswith("No lesson is on record")
        assert "No lesson" not in completed

    run(story)

    (record,) = records(home)
    assert record.why == "instead: use cursors"


def test_a_text_that_the_user_made_memory_forget_is_not_stored_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    memory = Memory.open(settings(home))
    stored = memory.remember(Record(type="note", what="The box is zephyr.", confidence=0.8), USER)
    assert stored is not None
    memory.forget([stored.id], USER)
    memory.close()

    async def story() -> None:
        async with connected(home) as client:
            text = await ask(client, "remember", text="The box is zephyr.")

        assert text == "Not stored: this was forgotten, and only the user can bring it back."

    run(story)

    assert records(home) == []


def test_the_answer_of_remember_stays_within_the_length_limit(tmp_path: Path) -> None:
    names = [f"service-{number}-{'x' * 60}" for number in range(60)]

    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            text = await ask(client, "remember", text="word " * 3000, entities=names)

        assert len(text) <= MAX_ANSWER_CHARS
        assert "Tiers: graph now" in text

    run(story)


def test_a_secret_in_a_remembered_text_appears_neither_in_the_answer_nor_on_disk(
    tmp_path: Path,
) -> None:
    home, secret = tmp_path / "home", "gh" + "p_" + "A1b2C3d4E5" * 4

    async def story() -> None:
        async with connected(home) as client:
            text = await ask(client, "remember", text=f"The deploy token is {secret} for now.")
            assert secret not in text
            assert secret not in await ask(client, "recall", query="deploy token")

    run(story)
    for path in home.rglob("*"):
        assert path.is_dir() or secret.encode() not in path.read_bytes()


@pytest.mark.behaviour("MEM-12b")
@pytest.mark.parametrize("arguments", [{}, {"text": "x", "type": "session"}, {"text": 1}])
def test_remember_refuses_invalid_arguments(tmp_path: Path, arguments: dict[str, Any]) -> None:
    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            result = await client.call_tool("remember", arguments)

            assert result.is_error
            assert texts(result)[0].startswith("MCP error -32602: Input validation error")

    run(story)


def test_a_secret_is_refused_as_a_whole_text_and_never_stored_as_an_entity_name(
    tmp_path: Path,
) -> None:
    secret = "Tulpen" + "Feld77"

    async def story() -> None:
        async with connected(tmp_path / "home") as client:
            refused = await client.call_tool("remember", {"text": f"password={secret}"})
            assert refused.is_error and "only a secret" in texts(refused)[0]
            text = f"The database asks for the password {secret} on every call"
            await ask(client, "remember", text=text, entities=[secret, "database"])

    run(story)

    (record,) = records(tmp_path / "home")
    assert secret not in repr(record)
    assert "database" in [entity.name for entity in record.entities]
