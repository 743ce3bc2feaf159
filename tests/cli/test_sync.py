"""forget, status, project, sync, check, repair, backup, off, on, doctor."""

from __future__ import annotations

import json

import pytest

from cli.shell import Shell
from memory_fabric.config import read_settings
from memory_fabric.models import Provenance
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
    assert "1 lines cannot be read: 3." in harmed.out


def test_repair_removes_orphaned_entities_only_with_the_option_yes(filled: Shell) -> None:
    orphan(filled, "alone")

    shown = filled.run("repair", "--orphans")
    taken = filled.run("repair", "--orphans", "--yes", "--json").json
    filled.run("undo", "--last")

    assert shown.out.startswith("alone\n") and "nothing was changed" in shown.out
    assert taken == {"orphans": ["alone"], "left_alone": [], "removed": 1}
    assert filled.run("repair", "--orphans", "--json").json["orphans"] == ["alone"]


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
