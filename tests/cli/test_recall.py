"""recall, load, history, why: what comes back, for people and for programs."""

from __future__ import annotations

import pytest

from cli.shell import Shell

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
