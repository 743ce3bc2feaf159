"""recall, load, history, why: what comes back, for people and for programs."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import pytest

from cli.shell import Shell
from memory_fabric.models import OTHERS, Provenance, Record
from memory_fabric.store import records

DECISION = "Use cursor-based pagination for all list endpoints"


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A shell whose project remembers two things."""
    shell.remember("--why", "offsets time out", DECISION)
    shell.remember("--failed", "Offset pagination caused timeouts at 1M rows")
    return shell


def test_recall_json_contains_totals_and_results_sorted_by_score(filled: Shell) -> None:
    answer = filled.run("recall", "--json", "which pagination for list endpoints?").json

    assert {"query", "total_results", "sources", "results"} <= set(answer)
    assert answer["total_results"] == len(answer["results"]) == sum(answer["sources"].values())
    best = answer["results"][0]
    assert best["text"] == DECISION
    assert "cursor-pagination" in best["entities"]
    assert [r["score"] for r in answer["results"]] == sorted(
        (r["score"] for r in answer["results"]), reverse=True
    )


def test_recall_in_a_terminal_shows_a_table_with_ids(filled: Shell) -> None:
    done = filled.run("recall", "pagination")

    assert done.out.splitlines()[0].split() == ["score", "kind", "date", "id", "memory"]
    assert "decision" in done.out and "because offsets time out" in done.out


def test_recall_without_a_question_returns_the_newest_memories(filled: Shell) -> None:
    results = filled.run("recall", "--json", "--limit", "1").json["results"]

    assert [r["text"] for r in results] == ["Offset pagination caused timeouts at 1M rows"]


def test_a_type_filter_in_the_question_limits_the_results_of_recall(filled: Shell) -> None:
    results = filled.run("recall", "--json", "type:antipattern pagination").json["results"]

    assert {r["metadata"]["type"] for r in results} == {"antipattern"}


def test_a_repeated_filter_option_matches_any_of_its_values(filled: Shell) -> None:
    filled.remember("--domain", "ops", "Always page the owner of pagination")

    one = filled.run("recall", "--json", "pagination", "--domain", "Ops").json
    any_of = filled.run("recall", "--json", "pagination", "--type", "decision", "--type", "note")
    shown = filled.run("recall", "pagination", "--domain", "ops").out

    assert {hit["metadata"]["domain"] for hit in one["results"]} == {"ops"}
    assert one["label"] == "[Domain-Filtered Memory (expert_domain=ops)]"
    assert {hit["metadata"]["type"] for hit in any_of.json["results"]} == {"decision"}
    assert shown.splitlines()[0] == "[Domain-Filtered Memory (expert_domain=ops)]"


def test_recall_that_finds_nothing_states_which_filters_were_applied(filled: Shell) -> None:
    done = filled.run("recall", "pagination", "--domain", "ops", "--since", "30d")

    assert done.status == 3
    assert "Nothing found." in done.out
    assert "nothing was found under the filter (expert_domain=ops, since=" in done.out


def test_recall_refuses_an_unknown_type_and_mentions_the_option(filled: Shell) -> None:
    done = filled.run("recall", "pagination", "--type", "banana")

    assert done.status == 2
    assert "--type does not know banana" in done.err


def test_recall_prints_no_control_codes_from_stored_text(shell: Shell) -> None:
    shell.remember("Always beep \x1b[31mred\x07 in the terminal")

    done = shell.run("recall", "beep terminal")

    assert "Always beep" in done.out
    assert "\x1b" not in done.out and "\x07" not in done.out


def test_recall_finds_notes_of_claude_code_and_shows_their_file(filled: Shell) -> None:
    mine = "\r\n# Mine\r\n\r\n- Pagination tests need the seeded shop\r\n"
    filled.notes.write_bytes(filled.notes.read_bytes() + mine.encode())
    (filled.notes.parent / "testing.md").write_text("Pagination is tested by pytest.\n")
    assert DECISION in filled.notes.read_text()

    answer = filled.run("recall", "--json", "pagination tests").json
    shown = filled.run("recall", "pagination tests").out

    found = {r["id"]: r["text"] for r in answer["results"] if r["source"] == "native"}
    assert found == {
        "native:MEMORY.md#1": "Mine: Pagination tests need the seeded shop",
        "native:testing.md#1": "Pagination is tested by pytest.",
    }
    assert answer["sources"]["native"] == 2
    assert [r["text"] for r in answer["results"]].count(DECISION) == 1
    (line,) = [line for line in shown.splitlines() if "seeded shop" in line]
    assert line.split()[1] == "fact" and "MEMORY.md#1" in line


def test_recall_reports_an_unreadable_note_file_and_shows_other_results(filled: Shell) -> None:
    (filled.notes.parent / "latin.md").write_bytes(b"caf\xe9")

    found = filled.run("recall", "pagination")
    nothing = filled.run("recall", "zanzibar")

    assert (found.status, nothing.status) == (0, 3)
    for done in (found, nothing):
        assert "not searched: native (latin.md): it is not UTF-8 text" in done.err


def test_load_prints_the_text_that_a_new_session_receives(filled: Shell) -> None:
    done = filled.run("load")

    assert "## Recent Project Decisions" in done.out
    assert DECISION in done.out
    assert filled.run("load", "--json").json["text"] + "\n" == done.out


def test_history_finds_an_entity_in_any_spelling(filled: Shell) -> None:
    changes = filled.run("history", "--json", "Cursor_Pagination").json

    assert [c["kind"] for c in changes] == ["remember"]
    assert changes[0]["by"]["source"] == "cli"
    assert DECISION in changes[0]["what"]


def test_history_without_a_name_lists_the_newest_change_first(filled: Shell) -> None:
    changes = filled.run("history", "--json").json

    assert len(changes) == 2
    assert changes[0]["at"] >= changes[1]["at"]


def test_why_shows_author_source_project_tiers_and_time_of_a_record(filled: Shell) -> None:
    id_ = filled.remember(DECISION)["short_id"]

    whole = filled.run("why", id_, "--json").json

    assert (whole["author"], whole["source"], whole["project"]) == ("ann", "cli", "shop")
    assert whole["tiers"] == ["graph", "decisions.jsonl", "MEMORY.md"]
    assert whole["given_to"] == []
    assert "ann, by cli, on 20" in filled.run("why", id_).out


def test_why_shows_which_session_and_subagent_were_shown_a_record(filled: Shell) -> None:
    # Else MEMORY.md shows it, and the hook has nothing to add.
    told = {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}
    filled.run("remember", "PostgreSQL migration scripts live in db/", **told)
    event = (
        '{"hook_event_name": "SubagentStart", "session_id": "s9", "agent_id": "a1", '
        '"agent_type": "database-engineer"}'
    )
    filled.run("hook", stdin=event, CLAUDE_PROJECT_DIR=str(filled.project), **told)
    found = filled.run("recall", "--json", "PostgreSQL migration", "--limit", "1").json["results"]

    gifts = filled.run("why", found[0]["id"], "--json").json["given_to"]

    assert [(g["session"], g["agent"], g["channel"]) for g in gifts] == [("s9", "a1", "subagent")]
    for name in (found[0]["id"], "PostgreSQL"):
        shown = filled.run("why", name).out.splitlines()
        assert shown[-1].startswith("given to session s9, agent a1, with a subagent block on 20")
        assert sum("given to" in line for line in shown) == 1


def test_recall_explain_shows_scores_or_why_nothing_would_be_recalled(filled: Shell) -> None:
    told = filled.run("recall", "--explain", "which pagination for list endpoints?")

    assert "1. " in told.out and DECISION in told.out
    assert "relevance" in told.out and "words held" in told.out and "recency" in told.out
    silent = filled.run("recall", "--explain", "kangaroos")
    assert silent.status == 3
    assert (
        "A prompt with these words would be given nothing: nothing remembered holds any"
        in silent.out
    )


def test_recall_explain_prints_searched_words_and_score_parts_as_json(filled: Shell) -> None:
    answer = filled.run("recall", "--explain", "--json", "which pagination?").json

    assert [w["word"] for w in answer["searched"]] == ["pagination"]
    best = answer["results"][0]
    assert best["metadata"]["parts"]["words held"] > 0
    assert set(best["metadata"]["score_parts"]) == {"recency", "relevance", "authority", "times"}
    assert all(result["prompt"] for result in answer["results"])
    assert isinstance(answer["silence"], str)


def test_recall_reports_that_no_memory_contains_an_exact_phrase(filled: Shell) -> None:
    done = filled.run("recall", '"endpoints cursor"')

    assert DECISION in done.out
    assert "nothing holds “endpoints cursor”" in done.out


def test_recall_with_a_type_filter_omits_memories_with_an_excluded_word(shell: Shell) -> None:
    shell.remember("We use Redis for sessions because it is quick")
    shell.remember("We use Zig for the parser because it starts quickly")

    found = shell.run("recall", "--json", "type:decision -redis").json["results"]

    assert [hit["text"] for hit in found] == ["We use Zig for the parser because it starts quickly"]


def put(shell: Shell, what: str, **fields: Any) -> None:
    """Store a decision of January 2026 with these fields, as if somebody else had stated it."""
    at = "2026-01-01T00:00:00.000Z"
    record = Record("decision", what, id="0190aaaa-0000-7000-8000-0000c0ffee00", created_at=at)
    record = record._replace(valid_from=at, confidence=0.9, **fields)
    payload = {"record": records.as_object(record), "seen_in": [""]}
    with closing(shell.open_memory()) as memory:
        memory.write("put_record", payload, Provenance("assistant"), store="project")


def test_recall_of_an_earlier_time_says_which_time_it_shows(filled: Shell) -> None:
    then = filled.run("recall", "pagination", "--as-of", "2020-01-01")
    now = filled.run("recall", "pagination")

    assert then.status == 3
    assert then.out == "The memory as it was on 2020-01-01 23:59 UTC:\nNothing found.\n"
    assert "as it was on" not in now.out


def test_recall_and_load_fail_if_the_database_is_damaged(filled: Shell) -> None:
    filled.database.write_bytes(b"no database " * 400)

    recalled, loaded = filled.run("recall", "pagination"), filled.run("load")
    error = json.loads(filled.run("recall", "pagination", "--json").err)["error"]

    assert (recalled.status, recalled.out, loaded.status) == (1, "", 1)
    assert recalled.err.startswith("memory-fabric: Nothing could be searched: ")
    assert loaded.err.startswith("memory-fabric: ")
    assert error["code"] == "unavailable"
    assert error["remedy"] == "Run memory-fabric doctor to find the cause."


def test_recall_marks_claims_of_others_and_stale_memories(shell: Shell) -> None:
    put(shell, "Carts live in Valkey", source=OTHERS, trust="foreign", author="Bob")

    shown = shell.run("recall", "Carts Valkey").out
    explained = shell.run("recall", "Carts Valkey", "--explain").out.splitlines()

    assert "[from Bob as claimed, unverified] [stale] Carts live in Valkey\n" in shown
    assert "c0ffee00" in shown
    assert explained[2] == "   holds carts, valkey; from Bob as claimed, unverified; stale"
    assert explained[4].startswith("   score (recency 0.") and explained[4].endswith(") × 0.8")
    assert explained[5:] == [
        "   as a prompt: would be given",
        "A prompt with these words would be given those marked so.",
    ]


def test_recall_marks_a_replaced_memory_and_explains_what_replaces_it(shell: Shell) -> None:
    old = shell.remember("We use MongoDB for the orders")
    new = shell.remember("Use PostgreSQL for the orders", "--instead-of", old["id"])

    shown = shell.run("recall", "orders before MongoDB").out
    explained = shell.run("recall", "PostgreSQL orders", "--explain").out

    assert f"[superseded by {new['short_id']}] We use MongoDB for the orders" in shown
    assert "stale" not in shown and "unverified" not in shown
    assert f"; replaces {old['short_id']}" in explained
    assert "   score recency 0." in explained and "nothing: " in explained
    assert "as a prompt: not given: " in explained


def test_recall_shows_a_reason_only_if_the_text_lacks_it(shell: Shell) -> None:
    shell.remember("--why", "Time Out", "Offsets time out on exports")
    shell.remember("--why", "to page quickly", "Cursors are for exports")

    shown = shell.run("recall", "exports").out

    assert "Offsets time out on exports " in shown and "Time Out" not in shown
    assert "Cursors are for exports — to page quickly" in shown


def test_recall_with_a_depth_shows_relations_and_their_paths(shell: Shell) -> None:
    entity = '{"type":"entity","name":"%s","entityType":"component","observations":[]}'
    relation = '{"type":"relation","from":"hub","to":"api","relationType":"feeds"}'
    shell.run("import", "-", stdin="\n".join([entity % "hub", entity % "api", relation]))

    _, found, path, *_ = shell.run("recall", "hub", "--depth", "1").out.splitlines()

    assert found.split()[1] == "relation" and found.split()[-3:] == ["hub", "feeds", "api"]
    assert path == "path: hub feeds api"


def test_explain_without_words_searches_names_and_filters_only(filled: Shell) -> None:
    explained = filled.run("recall", "type:decision", "--explain").out.splitlines()

    assert explained[0] == "searched for: names and filters only"
    assert explained[2:4] == ["   holds none of the words", "   relevance 0.000 from nothing"]


def test_an_empty_memory_has_nothing_to_load_and_no_history(shell: Shell) -> None:
    loaded, listed = shell.run("load"), shell.run("history")
    unknown = shell.run("history", "nobody")

    assert (loaded.status, loaded.out) == (3, "Nothing is remembered here yet.\n")
    assert shell.run("load", "--json").json == {"text": "", "failures": []}
    assert (listed.status, listed.out, listed.err) == (3, "Nothing has changed yet.\n", "")
    assert unknown.status == 3 and "There is no memory or entity 'nobody'." in unknown.err


def test_history_shows_at_most_the_requested_number_of_changes(filled: Shell) -> None:
    shown = filled.run("history", "--limit", "1").out.splitlines()

    assert shown[0].split() == ["when", "(UTC)", "id", "by", "what"]
    assert len(shown) == 2 and "Offset pagination" in shown[1]


def test_why_of_an_entity_shows_its_names_store_and_observations(filled: Shell) -> None:
    filled.run("alias", "cursor-pagination", "cursors")

    shown = [" ".join(line.split()) for line in filled.run("why", "cursors").out.splitlines()]

    assert shown[:3] == [
        "cursor-pagination (pattern)",
        "also called cursors",
        "stored in the project's memory",
    ]
    assert "the user, by cli " in shown[4] and DECISION in shown[4]
    assert shown[5:] == ["given to no session yet"]


def test_why_of_an_entity_says_that_it_has_no_observations(shell: Shell) -> None:
    entity = '{"type":"entity","name":"hub","entityType":"component","observations":[]}'
    shell.run("import", "-", stdin=entity)

    assert shell.run("why", "hub").out.splitlines()[2:] == [
        "It has no observations.",
        "given to no session yet",
    ]
    shell.run("forget", "hub", "--yes")
    assert "removed" in shell.run("why", "hub").out


def test_why_shows_the_state_of_files_that_a_memory_names(shell: Shell) -> None:
    for name in ("api.py", "jobs.py", "page.py"):
        (shell.project / name).write_text("x = 1\n")
    id_ = shell.remember("Paging is in api.py, jobs.py and page.py")["id"]
    (shell.project / "api.py").write_text("x = 2\n")
    (shell.project / "jobs.py").unlink()

    shown = " ".join(shell.run("why", id_).out.split())

    assert "api.py has changed since; jobs.py is gone; page.py is as it was" in shown
    assert set(shell.run("why", id_, "--json").json["files"]) == {"api.py", "jobs.py", "page.py"}
