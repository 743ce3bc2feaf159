"""edit: a memory gets other words, another type, scope or reason, and can be taken back."""

from __future__ import annotations

import pytest

from cli.shell import Shell
from memory_fabric.config import read_settings
from memory_fabric.models import CONTRADICTS, OTHERS, QUOTATION, Provenance, Record
from memory_fabric.store import records
from memory_fabric.store.memory import Memory

OLD = "We use MongoDB for the order archive"
NEW = "We use Postgres for the order archive"


@pytest.fixture
def memory(shell: Shell) -> Memory:
    """The memory of the shell's project, as hooks have it."""
    environ = {**shell.environ, "CLAUDE_PROJECT_DIR": str(shell.project)}
    return Memory.open(read_settings(environ, {}))


def graph_texts(memory: Memory, name: str) -> list[str]:
    """Return the observations of an entity in the project's graph."""
    database = memory.database("project", create=False)
    assert database is not None
    rows = database.rows(
        "SELECT o.text FROM observations AS o JOIN entities AS e ON e.id = o.entity "
        "WHERE e.name = ?",
        (name,),
    )
    return [row[0] for row in rows]


def put(memory: Memory, record: Record, store: str = "project") -> None:
    payload = {"record": records.as_object(record), "seen_in": [record.session]}
    memory.write("put_record", payload, Provenance("assistant"), store=store)


def hear(memory: Memory, record: Record) -> Record:
    """Store a record of the assistant; return it as stored."""
    by = Provenance("assistant", session="a-session-0001")
    stored = memory.remember(record, by)
    assert stored is not None
    return stored


def only(memory: Memory, id_: str) -> Record:
    (found,) = memory.find_records("id = ?", (id_,))
    assert isinstance(found, Record)
    return found


def test_editing_a_text_replaces_the_old_text_in_every_tier(shell: Shell, memory: Memory) -> None:
    id_ = shell.remember(OLD)["id"]

    done = shell.run("edit", id_[-8:], "--text", NEW, "--why", "it has transactions")

    assert (done.status, done.err) == (0, "")
    assert "before" in done.out and OLD in done.out
    assert graph_texts(memory, "MongoDB") == []
    assert graph_texts(memory, "PostgreSQL") == [f"{NEW} — because it has transactions"]
    assert NEW in shell.notes.read_text()
    assert OLD not in shell.notes.read_text()
    assert NEW in shell.run("recall", "order archive").out


def test_history_shows_the_text_before_and_after_an_edit_and_undo_restores_it(
    shell: Shell, memory: Memory
) -> None:
    id_ = shell.remember(OLD)["id"]
    undo = shell.run("edit", id_, "--text", NEW, "--json").json["undo"]

    history = shell.run("history", id_).out
    shell.run(*undo.split()[1:])

    assert f"reworded decision {id_[-8:]}: {NEW}; before: {OLD}" in history
    assert f"remembered decision {id_[-8:]}: {OLD}" in history
    assert graph_texts(memory, "MongoDB") == [OLD]
    assert graph_texts(memory, "PostgreSQL") == []
    assert OLD in shell.notes.read_text()


def test_edit_with_json_returns_the_memory_before_and_after(shell: Shell) -> None:
    id_ = shell.remember(OLD)["id"]

    told = shell.run("edit", id_, "--text", NEW, "--type", "note", "--json").json

    assert (told["id"], told["what"], told["type"]) == (id_, NEW, "note")
    assert (told["was"]["what"], told["was"]["type"]) == (OLD, "decision")
    assert "graph" in told["tiers"]


def test_edit_changes_only_the_fields_given_as_options(shell: Shell, memory: Memory) -> None:
    id_ = shell.remember("--why", "it was there", OLD)["id"]

    shell.run("edit", id_, "--type", "constraint", "--when", "npm run dev")
    first = only(memory, id_)
    shell.run("edit", id_, "--why", "", "--when", "")
    second = only(memory, id_)

    assert (first.what, first.why, first.type) == (OLD, "it was there", "constraint")
    assert first.evidence["when"] == "npm run dev"
    assert (second.what, second.why, second.type) == (OLD, "", "constraint")
    assert "when" not in second.evidence
    assert graph_texts(memory, "MongoDB") == [OLD]


def test_a_record_has_a_chose_relation_only_while_its_type_is_decision(
    shell: Shell, memory: Memory
) -> None:
    id_ = shell.remember(OLD)["id"]
    assert "chose" in {relation.type for relation in only(memory, id_).relations}

    shell.run("edit", id_, "--type", "note")
    assert "chose" not in {relation.type for relation in only(memory, id_).relations}

    shell.run("edit", id_, "--type", "decision")
    assert "chose" in {relation.type for relation in only(memory, id_).relations}


def test_a_record_edited_by_the_user_gains_trust_and_loses_its_quotation(
    shell: Shell, memory: Memory
) -> None:
    evidence = {
        QUOTATION: "put it into mongo",
        CONTRADICTS: ["x"],
        "noted": "decision",
        "also": "db",
    }
    note = Record("decision", OLD, confidence=0.6, evidence=evidence)
    stored = hear(memory, note)

    shell.run("edit", stored.id, "--text", NEW)

    found = only(memory, stored.id)
    assert (found.trust, found.source, found.session) == ("user", "cli", "a-session-0001")
    assert found.confidence >= 0.9
    assert set(found.evidence) == {"also", "confirmed"}


def test_changing_only_the_scope_of_a_record_keeps_its_trust(shell: Shell, memory: Memory) -> None:
    note = Record("decision", OLD, confidence=0.6)
    stored = hear(memory, note)

    shell.run("edit", stored.id, "--scope", "user")

    found = only(memory, stored.id)
    assert (found.trust, found.confidence, found.scope) == ("assistant", 0.6, "user")


def test_editing_the_text_of_a_candidate_makes_it_active(shell: Shell, memory: Memory) -> None:
    candidate = hear(memory, Record("constraint", "don't start it", confidence=0.4))

    shell.run("edit", candidate.id, "--text", "Never start the dev server")

    assert only(memory, candidate.id).status == "active"
    assert "No candidates" in shell.run("candidates").out


@pytest.mark.parametrize("scope", ["user", "global"])
def test_a_new_scope_moves_a_record_to_the_other_database_in_one_undoable_step(
    shell: Shell, memory: Memory, scope: str
) -> None:
    said = "Use cursor-based pagination for all list endpoints with Postgres"
    id_ = shell.remember(said)["id"]

    moved = shell.run("edit", id_, "--scope", scope)

    assert moved.status == 0, moved.err
    assert f"team → {scope}" in moved.out
    user, project = memory.database("user", create=False), memory.database("project", create=False)
    assert user and project
    assert user.rows("SELECT id, scope FROM records") == [(id_, scope)]
    assert project.rows("SELECT id FROM records") == []
    assert user.rows("SELECT count(*) FROM observations") != [(0,)]
    assert project.rows("SELECT count(*) FROM observations") == [(0,)]
    assert f"moved from scope team to {scope}" in shell.run("history", id_).out

    undone = shell.run("undo", "--last", "--json").json

    assert project.rows("SELECT id, scope FROM records") == [(id_, "team")]
    assert user.rows("SELECT id FROM records") == []
    assert user.rows("SELECT count(*) FROM observations") == [(0,)]

    shell.run("undo", undone["changes"][0]["undo"])

    assert user.rows("SELECT id, scope FROM records") == [(id_, scope)]
    assert project.rows("SELECT id FROM records") == []


def test_a_memory_moved_to_another_scope_still_replaces_the_old_memory(
    shell: Shell, memory: Memory
) -> None:
    old, new = shell.remember(OLD)["id"], shell.remember(NEW)["id"]
    shell.run("edit", new, "--instead-of", old)

    shell.run("edit", new, "--scope", "user")
    assert only(memory, old).valid_to != ""

    shell.run("undo", "--last")
    assert (only(memory, old).superseded_by, only(memory, new).scope) == (new, "team")


def test_edit_to_global_scope_removes_private_details_or_refuses_unknown_names(
    shell: Shell, memory: Memory
) -> None:
    id_ = shell.remember("Use Redis for the sessions of shop, see /home/ann/plan.md")["id"]
    other = shell.remember("Run Zephyrine before Redis is upgraded")["id"]

    shell.run("edit", id_, "--scope", "global")
    refused = shell.run("edit", other, "--scope", "global")

    found = only(memory, id_)
    assert "/home/ann" not in found.what
    assert (found.project, found.session, found.author) == ("", "", "")
    assert refused.status == 2
    assert "Zephyrine" in refused.err
    assert only(memory, other).scope == "team"


def test_undo_restores_a_memory_replaced_by_edit_with_instead_of(
    shell: Shell, memory: Memory
) -> None:
    old, new = shell.remember(OLD)["id"], shell.remember(NEW)["id"]

    done = shell.run("edit", new, "--text", f"{NEW} and for invoices", "--instead-of", old)

    assert f"{OLD} ({old[-8:]})" in done.out
    assert only(memory, old).superseded_by == new
    assert f"closed {old[-8:]}" in shell.run("history").out

    shell.run("undo", "--last")
    assert (only(memory, old).superseded_by, only(memory, new).what) == ("", NEW)


def test_edit_with_instead_of_can_replace_a_memory_of_another_scope(
    shell: Shell, memory: Memory
) -> None:
    old, new = shell.remember(OLD)["id"], shell.remember("--scope", "user", NEW)["id"]

    assert shell.run("edit", new, "--instead-of", old).status == 0

    assert (only(memory, old).superseded_by, only(memory, old).valid_to != "") == ("", True)


def test_edits_with_the_same_step_name_are_undone_together(shell: Shell, memory: Memory) -> None:
    one, two = shell.remember(OLD)["id"], shell.remember("Use tabs in Makefiles")["id"]

    told = shell.run("edit", one, "--text", NEW, "--step", "review-1")
    shell.run("edit", two, "--scope", "user", "--step", "review-1")
    undone = shell.run("undo", "--step", "review-1")

    assert "memory-fabric undo --step review-1 takes this back" in told.out
    assert undone.status == 0
    assert only(memory, one).what == OLD
    assert only(memory, two).scope == "team"
    again = shell.run("undo", "--step", "review-1")
    assert again.status == 3
    assert "undone already" in again.err


def test_edit_refuses_an_item_that_cannot_be_edited_and_says_why(
    shell: Shell, memory: Memory
) -> None:
    old, new = shell.remember(OLD)["id"], shell.remember(NEW)["id"]
    shell.run("edit", new, "--instead-of", old)
    change = shell.run("history", "--json").json[0]["id"]
    base = Record("decision", "Words", id="0190-aaaa-theirs0", created_at="2026-01-01T00:00:00Z")
    put(memory, base._replace(id="11112222-aaaa", source=OTHERS, trust="foreign", author="Bob"))
    put(memory, base._replace(id="33334444-bbbb", type="session"))
    turn = {"id": "55556666-cccc", "session": "s", "role": "user", "text": "hello"}
    turn |= {"created_at": "2026-01-01T00:00:00Z"}
    memory.write("add_episodes", {"episodes": [turn]}, Provenance("prompt"), store="project")

    for name, words in (
        (old, f"was replaced by {new[-8:]}"),
        (change, "is a change. memory-fabric undo"),
        ("11112222-aaaa", "a memory of Bob"),
        ("33334444-bbbb", "the summary of a session"),
        ("55556666-cccc", "is a turn of a conversation"),
        ("PostgreSQL", "is an entity"),
    ):
        done = shell.run("edit", name, "--text", "Something else")
        assert (done.status, done.err.count("\n")) == (2, 1)
        assert words in done.err
    unknown = shell.run("edit", "ffffffff", "--text", "Something else")
    assert (unknown.status, "recall shows ids" in unknown.err) == (3, True)


def test_edit_refuses_invalid_values_and_changes_nothing(shell: Shell, memory: Memory) -> None:
    id_, other = shell.remember(OLD)["id"], shell.remember(NEW)["id"]
    before = shell.run("history").out

    for words, said in (
        ((), "--text, --type"),
        (("--text", " … "), "--text is empty"),
        (("--text", "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"), "only a secret"),
        (("--text", "x" * 20_000), "the limit is 16384"),
        (("--type", "session"), "--type cannot be 'session'"),
        (("--scope", "local"), "ends with its session"),
        (("--text", OLD), "says this already"),
        (("--text", NEW), f"memory-fabric edit {other[-8:]} --instead-of {id_[-8:]}"),
        (("--instead-of", id_), "cannot replace itself"),
        (("--text", "Fine", "--step", "a b"), "cannot name a step"),
    ):
        done = shell.run("edit", id_, *words)
        assert (done.status, done.err.count("\n")) == (2, 1), words
        assert said in done.err
    assert shell.run("history").out == before


def test_edit_accepts_the_same_text_as_the_memory_it_replaces(shell: Shell, memory: Memory) -> None:
    one, two = shell.remember(OLD)["id"], shell.remember(NEW)["id"]

    done = shell.run("edit", one, "--text", NEW, "--instead-of", two)

    assert done.status == 0, done.err
    assert (only(memory, one).what, only(memory, two).superseded_by) == (NEW, one)


def test_an_isolated_domain_can_edit_only_its_own_memories(shell: Shell, memory: Memory) -> None:
    shell.memory.mkdir(parents=True, exist_ok=True)
    (shell.memory / "config.toml").write_text("[domains.legal]\nisolate = true\n")
    other = shell.remember(OLD)["id"]
    own = shell.remember("--domain", "legal", "Contracts are kept for ten years")["id"]

    hidden = shell.run("edit", other, "--text", NEW, MEMORY_FABRIC_DOMAIN="legal")
    done = shell.run(
        "edit", own, "--text", "Contracts are kept for six years", MEMORY_FABRIC_DOMAIN="legal"
    )

    assert hidden.status == 3
    assert done.status == 0, done.err
    assert (only(memory, other).what, only(memory, own).domain) == (OLD, "legal")


def test_purge_also_erases_the_text_that_a_memory_had_before_an_edit(shell: Shell) -> None:
    id_ = shell.remember("Use Quibblefrotz for sessions")["id"]
    shell.run("edit", id_, "--text", "Use Valkey for sessions", "--scope", "user")

    done = shell.run("forget", "--purge", "Quibblefrotz", "--yes")

    assert done.status == 0, done.err
    files = [path for path in shell.user_home.parent.rglob("*") if path.is_file()]
    assert [str(p) for p in files if b"quibblefrotz" in p.read_bytes().lower()] == []
    assert "Use Valkey for sessions" in shell.run("recall", "Valkey").out


def test_edit_shows_only_the_fields_that_changed(shell: Shell) -> None:
    id_ = shell.remember("Use Redis for the sessions")["id"]

    reason = shell.run("edit", id_, "--why", "it is fast").out
    kind = shell.run("edit", id_, "--type", "note").out

    assert "Redis (technology), sessions (component)" in reason
    assert "binds" not in reason
    assert "why" in reason and "\nbefore" not in reason and "→" not in reason
    assert "decision → fact" in kind and "\nscope" not in kind
    assert kind.count("→") == 1 and kind.endswith(" takes this back.\n")
