"""forget, status, project, sync, check, repair, backup, off, on, doctor."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from cli.shell import Shell
from memory_fabric.cli.commands.sync import answer, results_as_json
from memory_fabric.cli.commands.team import _status_lines
from memory_fabric.config import read_settings
from memory_fabric.errors import FabricError
from memory_fabric.health.work import TieReport
from memory_fabric.models import Provenance
from memory_fabric.sharing.replica.space import Asked, Conflict, Counts
from memory_fabric.sharing.replica.wire import Holder, SpaceState
from memory_fabric.sharing.team.errors import NoAnswer
from memory_fabric.sharing.team.sync import Result
from memory_fabric.sharing.team.ties import Outcome, State, Tie
from memory_fabric.store.memory import Memory

DECISION = "Use cursor-based pagination for all list endpoints"
LESSON = "Offset pagination caused timeouts at 1M rows"


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A shell whose project remembers two things."""
    shell.remember(DECISION)
    shell.remember("--failed", LESSON)
    return shell


def break_database(shell: Shell) -> None:
    """Write over the project's database."""
    shell.database.write_bytes(b"no database " * 400)
    for ending in ("-wal", "-shm"):
        shell.database.with_name(shell.database.name + ending).unlink(missing_ok=True)


def states(shell: Shell) -> dict[str, str]:
    """The state of each tier."""
    return {t["tier"]: t["state"] for t in shell.run("status", "--json").json["tiers"]}


def test_forget_without_yes_previews_and_changes_nothing(filled: Shell) -> None:
    done = filled.run("forget", "offset", "timeouts")

    assert LESSON in done.out and DECISION not in done.out
    assert "nothing was changed" in done.out
    assert filled.run("forget", "offset", "timeouts").status == 0


def test_forget_with_yes_removes_a_record_from_the_graph_and_memory_md(filled: Shell) -> None:
    gone = filled.run("forget", "offset", "timeouts", "--yes", "--json").json

    assert gone["forgotten"] == 1
    assert filled.run("forget", "offset", "timeouts").status == 3
    assert LESSON not in filled.notes.read_text("utf-8")
    assert DECISION in filled.notes.read_text("utf-8")


def test_forget_deletes_several_memories_only_with_the_option_all(filled: Shell) -> None:
    refused = filled.run("forget", "pagination", "--yes")
    allowed = filled.run("forget", "pagination", "--yes", "--all", "--json")

    assert refused.status == 2 and "2 memories match" in refused.err
    assert allowed.json["forgotten"] == 2


def test_forgetting_an_entity_by_name_keeps_the_record_that_mentions_it(filled: Shell) -> None:
    found = filled.run("forget", "list-endpoints", "--json").json

    filled.run("forget", "list-endpoints", "--yes", "--all")

    assert [e["name"] for e in found["entities"]] == ["list-endpoints"]
    assert found["records"] == []
    # Now the words are sought: the decision that speaks of it stays.
    after = filled.run("forget", "list-endpoints", "--json").json
    assert (after["entities"], [r["what"] for r in after["records"]]) == ([], [DECISION])


def test_status_is_healthy_before_anything_is_stored(shell: Shell) -> None:
    assert states(shell) == {"graph": "healthy", "local": "healthy", "native": "healthy"}


def test_status_counts_the_contents_of_each_storage_tier(filled: Shell) -> None:
    tiers = {t["tier"]: t["counts"] for t in filled.run("status", "--json").json["tiers"]}

    assert tiers["graph"]["records"] == 2
    assert tiers["local"] == {"lines": 2, "queued": 0}
    assert tiers["native"] == {"shown": 2}


def test_an_unreadable_journal_line_degrades_only_the_local_tier(filled: Shell) -> None:
    with (filled.project / ".claude/memory/decisions.jsonl").open("a", encoding="utf-8") as lines:
        lines.write("{torn\n")

    assert states(filled) == {"graph": "healthy", "local": "degraded", "native": "healthy"}
    assert "Look at line 3" in filled.run("status").out


@pytest.mark.parametrize(
    ("count", "at"), [(51, "2999-01-01T00:00:00Z"), (1, "2020-01-01T00:00:00Z")]
)
def test_status_is_degraded_if_the_queue_is_too_long_or_too_old(
    filled: Shell, count: int, at: str
) -> None:
    line = json.dumps(
        {"id": "x", "kind": "forget", "payload": {"ids": []}, "provenance": {"at": at}}
    )
    queue = filled.project / ".claude/memory/graph-queue.jsonl"
    queue.write_text(f"{line}\n" * count, "utf-8")

    found = states(filled)

    assert (found["graph"], found["local"]) == ("degraded", "degraded")


def test_a_damaged_database_makes_only_the_graph_tier_unavailable(
    filled: Shell,
) -> None:
    break_database(filled)

    done = filled.run("status", "--json")

    assert done.status == 1
    assert [t["state"] for t in done.json["tiers"]] == ["unavailable", "healthy", "healthy"]
    assert "repair" in json.dumps(done.json["tiers"][0]["findings"])


def test_status_reports_a_disabled_memory_md_as_unavailable_with_the_reason(
    filled: Shell,
) -> None:
    done = filled.run("status", "--json", CLAUDE_CODE_DISABLE_AUTO_MEMORY="1")

    native = done.json["tiers"][2]
    assert native["state"] == "unavailable"
    assert "CLAUDE_CODE_DISABLE_AUTO_MEMORY" in native["findings"][0]["reason"]


def test_repair_rebuilds_a_damaged_database_from_its_journal(filled: Shell) -> None:
    break_database(filled)

    done = filled.run("repair")

    assert done.status == 0, done.err
    assert "rebuilt" in done.out
    assert filled.run("recall", "--json", "pagination").json["results"][0]["text"] in (
        DECISION,
        LESSON,
    )


def test_repair_restores_a_lost_database(filled: Shell) -> None:
    filled.run("backup")
    filled.database.unlink()

    assert filled.run("repair").status == 0
    assert filled.run("status", "--json").json["tiers"][0]["counts"]["records"] == 2


def test_repair_does_not_rebuild_a_sound_database(filled: Shell) -> None:
    done = filled.run("repair", "--json")

    assert done.json["rebuilt"] == []
    assert len(done.json["sound"]) == 1


def orphan(shell: Shell, name: str) -> None:
    """Let the graph hold an entity of which nothing is said."""
    environ = {**shell.environ, "CLAUDE_PROJECT_DIR": str(shell.project)}
    memory = Memory.open(read_settings(environ, {}))
    entity = {"name": name, "entityType": "component", "observations": []}
    memory.write("create_entities", {"entities": [entity]}, Provenance("mcp"))
    memory.close()


def test_check_reports_no_problem_in_a_sound_memory(filled: Shell) -> None:
    filled.run("backup")

    done = filled.run("check", "--json")

    assert (done.status, done.json) == (0, {"sound": True, "findings": []})
    assert filled.run("check").out == "Nothing is damaged.\n"


def test_check_fails_for_a_damaged_file_but_only_notes_orphaned_entities(filled: Shell) -> None:
    orphan(filled, "alone")
    tidy = filled.run("check")
    with (filled.project / ".claude/memory/decisions.jsonl").open("a", encoding="utf-8") as lines:
        lines.write("{torn\n")

    harmed = filled.run("check")

    assert (tidy.status, harmed.status) == (0, 1)
    assert "note: Entities without observations and relations: alone." in tidy.out
    assert "Unreadable lines: 3." in harmed.out


def test_repair_removes_orphaned_entities_only_with_the_option_yes(filled: Shell) -> None:
    orphan(filled, "alone")

    shown = filled.run("repair", "--orphans")
    taken = filled.run("repair", "--orphans", "--yes", "--json").json
    filled.run("undo", "--last")
    again = filled.run("repair", "--orphans", "--yes")

    assert shown.out.startswith("alone\n") and "nothing was changed" in shown.out
    assert taken == {"orphans": ["alone"], "left_alone": [], "removed": 1}
    assert again.out == "alone\nRemoved: 1. memory-fabric undo --last restores them.\n"


def test_forget_repair_and_check_report_entities_left_without_relations(filled: Shell) -> None:
    filled.run("remember", "ledger-service uses Kafka.")
    orphan(filled, "")

    gone = filled.run("forget", "Kafka", "--yes")
    listed = filled.run("repair", "--orphans")
    checked = filled.run("check")

    assert "left without relations: ledger-service" in gone.err
    assert "ledger-service: a deletion left it without relations" in listed.out
    assert "'' (a blank name)" in listed.out
    assert "a deletion left without relations: ledger-service" in " ".join(checked.out.split())


def test_backup_creates_a_copy_and_prints_its_path(filled: Shell) -> None:
    (made,) = filled.run("backup", "--json").json["made"]

    assert made.startswith(str(filled.database.parent / "backups"))
    assert "graph-" in filled.run("backup").out


def test_sync_restores_a_deleted_memory_md(filled: Shell) -> None:
    filled.notes.unlink()

    done = filled.run("sync", "--json")

    assert done.json == {
        "drained": 0,
        "restored": 0,
        "in_memory_md": 2,
        "forwarded": None,
        "failures": [],
    }
    assert DECISION in filled.notes.read_text("utf-8")
    assert filled.run("sync").out == "0 waiting changes applied; 2 memories are in MEMORY.md.\n"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("later",), 2, "There is no sync later. Use sync, sync now, or sync git"),
        (("now", "status"), 2, "There is no sync now status."),
        (("now",), 3, "Nothing is exchanged with other machines"),
        (("git", "status"), 3, "Nothing is exchanged with other machines"),
        (("git", "leave"), 3, "Nothing is exchanged with other machines"),
        (("git",), 2, "Nothing is exchanged with other machines"),
    ],
)
def test_an_exchange_that_was_never_begun_is_refused(
    shell: Shell, words: tuple[str, ...], status: int, said: str
) -> None:
    done = shell.run("sync", *words)

    assert (done.status, done.out) == (status, "")
    assert said in done.err


def test_only_the_user_may_begin_or_end_an_exchange(shell: Shell) -> None:
    shell.environ["CLAUDECODE"] = "1"

    for words in (("git", "leave"), ("git",)):
        assert "only the user may decide" in shell.run("sync", *words).err
    for words in (("git", "status"), ("now",)):
        assert shell.run("sync", *words).status == 3


def test_an_empty_memory_has_nothing_to_copy_or_repair(shell: Shell) -> None:
    copied, repaired = shell.run("backup"), shell.run("repair")

    assert (copied.status, copied.out) == (0, "Nothing to copy: nothing is stored yet.\n")
    assert (repaired.status, repaired.out) == (0, "Nothing to repair: nothing is stored yet.\n")
    assert shell.run("repair", "--orphans").out == (
        "Every entity has an observation or a relation.\n"
    )


def test_repair_names_the_databases_that_are_intact(filled: Shell) -> None:
    done = filled.run("repair")

    assert (done.status, done.out) == (0, f"{filled.database} is intact.\n")
    assert filled.run("repair", "--json").json["waiting"] == 0


def test_a_backup_of_a_damaged_database_fails(filled: Shell) -> None:
    break_database(filled)

    done, shown = filled.run("backup", "--json"), filled.run("backup")

    assert (done.status, done.json["made"], shown.status) == (1, [], 1)
    assert done.json["failures"] and "Nothing to copy" not in shown.out


@pytest.mark.parametrize("words", ["sync", "leave", "members", "add bob", "remove bob"])
def test_team_actions_require_a_shared_log(shell: Shell, words: str) -> None:
    done = shell.run("team", *words.split())

    assert done.status == 3 and "tied to no shared log" in done.err


def test_a_project_without_a_shared_log_says_how_to_join_one(shell: Shell) -> None:
    untied = shell.run("team")

    assert (untied.status, untied.out) == (
        0,
        "This project is tied to no shared log. memory-fabric team join DSN ties it to one.\n",
    )
    assert shell.run("team", "--json").json == []


def test_the_model_may_read_the_state_of_a_shared_log_but_not_leave_it(shell: Shell) -> None:
    refused = shell.run("team", "leave", CLAUDECODE="1")
    state = shell.run("team", "status", CLAUDECODE="1")

    assert (refused.status, state.status) == (2, 0)
    assert "with whom memories are shared" in refused.err


def test_the_project_command_shows_the_projects_name_keys_and_id(shell: Shell) -> None:
    found = shell.run("project", "--json").json

    assert found["name"] == "shop"
    assert found["keys"] == [f"git:{shell.project}/.git"]
    assert found["id"] in shell.run("project").out


def test_capture_can_be_switched_off_and_on_for_one_project(shell: Shell) -> None:
    off = shell.run("off", "--here", "--write")
    refused = shell.run("remember", DECISION)
    on = shell.run("on", "--here", "--write", "--json")

    assert off.out == "capture was on, is off now, for shop; recall stays on.\n"
    assert refused.status == 1 and "memory-fabric on" in refused.err
    assert (on.json["reads"], on.json["writes"]) == (True, True)
    assert on.json["changed"] == ["write"]
    assert shell.run("remember", DECISION).status == 0


def test_off_reports_whether_recall_or_capture_was_already_off(shell: Shell) -> None:
    shell.run("off", "--read")

    both = shell.run("off")
    again = shell.run("off")

    assert both.out == "recall was off already; capture was on, is off now, everywhere.\n"
    assert "capture was off already, everywhere. Nothing was changed." in again.out
    assert shell.run("off", "--json").json["changed"] == []


def test_switching_one_project_on_warns_if_memory_is_off_everywhere(shell: Shell) -> None:
    shell.run("off")

    done = shell.run("on", "--here")

    assert "still off here" in done.err


def test_doctor_lists_findings_with_remedies(filled: Shell) -> None:
    checks = {c["name"]: c for c in filled.run("doctor", "--json").json}

    assert checks["python"]["state"] == checks["home"]["state"] == "ok"
    assert checks["hooks"]["state"] == "warning"
    assert "claude plugin install" in checks["hooks"]["remedy"]


def test_doctor_fails_if_the_graph_database_is_damaged(filled: Shell) -> None:
    break_database(filled)

    assert filled.run("doctor").status == 1


def test_doctor_with_option_prove_tries_the_real_hooks_and_leaves_no_data(filled: Shell) -> None:
    before = filled.run("status", "--json").json["tiers"][0]["counts"]

    done = filled.run("doctor", "--prove", "--json")

    canary = {c["name"]: c["state"] for c in done.json if c["name"].startswith("canary")}
    assert canary == dict.fromkeys(
        (
            "canary goes in",
            "canary comes out",
            "canary at a subagent",
            "canary by Stop",
            "canary in graph",
            "canary in decisions.jsonl",
            "canary in MEMORY.md",
            "canary by the server",
            "canary is forgotten",
        ),
        "ok",
    )
    assert filled.run("status", "--json").json["tiers"][0]["counts"] == before


def test_doctor_with_option_prove_fails_while_memory_is_off(shell: Shell) -> None:
    done = shell.run("doctor", "--prove", "--json", MEMORY_FABRIC="off")

    assert done.status == 1
    assert {c["name"]: c["state"] for c in done.json}["canary comes out"] == "fault"


TIE = Tie("p1", space="shop")
SENT = Result(TIE, Outcome(sent=2, read=5, applied=3))


def test_the_result_of_an_exchange_counts_what_was_sent_and_received(
    capsys: pytest.CaptureFixture[str],
) -> None:
    everything = Outcome(1, refused=2, applied=3, conflicts=4, unread=5, again="it was lost")

    assert answer(False, {}, results=[SENT, Result(TIE, everything)]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "the shared log of shop: 2 sent, 3 received.",
        "the shared log of shop: 1 sent, 3 received, 2 refused, 5 unreadable, 4 in conflict. "
        "Everything was sent and read again, because it was lost.",
    ]


@pytest.mark.parametrize("as_json", [False, True])
def test_an_exchange_that_failed_or_did_not_take_place_gives_exit_code_1(
    capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    failed, busy = Result(TIE, failure=FabricError("It broke.")), Result(TIE)

    codes = [answer(as_json, [], results=[SENT, one]) for one in (failed, busy)]

    printed = capsys.readouterr()
    assert codes == [1, 1]
    assert printed.err == "memory-fabric: the shared log of shop: It broke.\n" * (not as_json)
    another = "the shared log of shop: another process exchanges it now."
    assert (another in printed.out) is not as_json


def test_the_result_of_an_exchange_in_json_has_its_counts_or_its_error() -> None:
    failed = Result(TIE, failure=FabricError("It broke."))

    sent, wrong, busy = results_as_json([SENT, failed, Result(TIE)])

    assert (sent["space"], sent["error"], sent["sent"], sent["read"]) == ("shop", "", 2, 5)
    assert wrong == {"space": "shop", "error": "It broke."}
    assert busy == {"space": "shop", "error": ""}


SERVER = SpaceState(1, "ann", "member", 3)


@pytest.fixture
def report(shell: Shell) -> Iterator[TieReport]:
    with closing(shell.open_memory()) as memory:
        yield TieReport(memory, Tie("p1", space="shop", member="ann"), 0.0)


@pytest.mark.parametrize(
    ("server", "told"),
    [
        (SERVER, ["The server answers: you are member of shop with 3 members."]),
        (NoAnswer("It is off."), ["The server does not answer now: It is off."]),
        (FabricError("It broke."), ["The server was not read now: It broke."]),
        (
            SERVER._replace(held_by=Holder(None, "", "", None)),
            [
                "The server answers: you are member of shop with 3 members.",
                "Sending waits for a transaction that is open: unknown.",
            ],
        ),
    ],
)
def test_the_state_of_a_shared_log_says_whether_its_server_answers(
    report: TieReport, server: Any, told: list[str]
) -> None:
    assert _status_lines(report, server)[1:] == told


def test_the_state_of_a_shared_log_lists_what_waits_for_somebody(report: TieReport) -> None:
    report.counts = Counts(records=(("bob", 2), ("eve", 1)))
    report.state = State(removed="eve")
    report.demands = [Asked("o:1", "bob", "2026-01-15T10:00:00Z", "our\nname")]
    report.conflicts = [Conflict("r:1", "", ("Use tabs", ""))]

    lines = _status_lines(report, SERVER._replace(held_by=Holder(17, "bob", "psql", 4.6)))

    assert lines[2:] == [
        "Sending waits for a transaction that is open for 5 s: psql of bob (process 17).",
        "Records of other members here: bob 2, eve 1 (no member any more).",
        "  bob demands since 2026-01-15, o:1: our name",
        "  r:1: withdrawn | elsewhere: Use tabs; withdrawn",
    ]


def test_on_reports_what_it_has_switched_on(shell: Shell) -> None:
    shell.run("off")

    recall = shell.run("on", "--read")
    both = shell.run("on", "--write", "--read")

    assert recall.out == "recall was off, is on now, everywhere; capture stays off.\n"
    assert both.out == "recall was on already; capture was off, is on now, everywhere.\n"


def test_switching_on_everywhere_warns_of_a_project_that_is_still_off(shell: Shell) -> None:
    shell.run("off", "--here", "--write")

    done = shell.run("on")

    assert done.err.startswith("memory-fabric: capture is still off here, by ")
    assert done.err.endswith("a switch for this project (memory-fabric on --here).\n")
    assert shell.run("off").err == ""


def test_orphans_of_both_databases_are_restored_together(shell: Shell) -> None:
    memory, by = shell.open_memory(), Provenance("cli", trust="user")
    for store in ("project", "user"):
        entity = {"name": f"of-{store}", "entityType": "x", "observations": []}
        memory.write("create_entities", {"entities": [entity]}, by, store=store)
    memory.close()
    before = shell.run("repair", "--orphans").out

    shell.run("repair", "--orphans", "--yes")
    shell.run("undo", "--last")

    assert shell.run("repair", "--orphans").out == before
