"""forget on the command line: single observations, and --purge."""

from __future__ import annotations

import pytest

from cli.shell import Shell
from memory_fabric.config import read_settings
from memory_fabric.models import QUOTATION, Provenance, Record
from memory_fabric.store.forget import purge as purging
from memory_fabric.store.forget import purge_steps
from memory_fabric.store.memory import Memory

DECISION = "Use cursor-based pagination for all list endpoints"
LESSON = "Offset pagination caused timeouts at 1M rows"


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A shell whose project remembers two things."""
    shell.remember(DECISION)
    shell.remember("--failed", LESSON)
    return shell


def bytes_of(shell: Shell) -> bytes:
    """Every byte below the person's home and project."""
    files = [p for folder in (shell.user_home, shell.project) for p in folder.rglob("*")]
    return b"\0".join(path.read_bytes() for path in files if path.is_file())


def test_undo_restores_a_memory_deleted_by_forget(filled: Shell) -> None:
    filled.run("forget", "offset", "timeouts", "--yes")

    filled.run("undo", "--last")

    assert LESSON in filled.notes.read_text("utf-8")


def test_forget_requires_every_word_and_also_searches_quotations(shell: Shell) -> None:
    environ = {**shell.environ, "CLAUDE_PROJECT_DIR": str(shell.project)}
    memory = Memory.open(read_settings(environ, {}))
    said = {QUOTATION: "No, always take PostgreSQL for the analytics."}
    what = "The analytics live in one place"
    record = Record("decision", what, confidence=0.9, evidence=said)
    memory.remember(record, Provenance("cli", "user"))
    memory.close()

    preview = shell.run("forget", "PostgreSQL", "analytics")

    assert preview.status == 0 and what in preview.out
    assert shell.run("forget", "PostgreSQL", "invoices").status == 3


@pytest.mark.parametrize("command", ["why", "history", "forget"])
def test_commands_accept_the_last_four_digits_of_an_id(filled: Shell, command: str) -> None:
    id_ = str(filled.run("recall", "cursor", "--json").json["results"][0]["id"])

    done = filled.run(command, id_[-4:])

    assert done.status == 0 and "cursor" in done.out


def test_the_error_for_the_unknown_command_keep_names_the_right_commands(shell: Shell) -> None:
    done = shell.run("keep", "12345678")

    assert done.status == 2
    assert "review --holds ID" in done.err and "candidates --keep ID" in done.err


def test_purge_without_yes_previews_and_warns_that_it_cannot_be_undone(filled: Shell) -> None:
    filled.run("backup")

    done = filled.run("forget", "offset", "timeouts", "--purge")

    assert "backups that are replaced by a new one: 1" in done.out
    assert "cannot be undone" in done.out
    assert "Transcripts of Claude Code are not touched" in done.out
    assert LESSON.encode() in bytes_of(filled)


def test_purge_with_yes_erases_the_given_memory_from_every_file(filled: Shell) -> None:
    filled.run("backup")

    done = filled.run("forget", "offset", "timeouts", "--purge", "--yes", "--json")

    assert done.status == 0, done.err
    assert done.json["forgotten"] == 1 and done.json["purged"]["elsewhere"] == []
    everything = bytes_of(filled)
    assert LESSON.encode() not in everything
    assert DECISION.encode() in everything
    assert filled.run("check").status == 0
    assert filled.run("forget", "offset", "timeouts").status == 3


def test_a_forgotten_memory_can_be_purged_by_its_id(filled: Shell) -> None:
    id_ = filled.run("forget", "offset", "timeouts", "--yes", "--json").json["records"][0]["id"]

    done = filled.run("forget", id_, "--purge", "--yes")

    assert done.status == 0, done.err
    assert LESSON.encode() not in bytes_of(filled)


def test_purge_reports_and_keeps_the_users_own_lines_in_memory_md(filled: Shell) -> None:
    text = filled.notes.read_text("utf-8")
    filled.notes.write_text(f"{LESSON}, I wrote\n{text}", "utf-8")

    done = filled.run("forget", "offset", "timeouts", "--purge", "--yes")

    assert done.status == 0, done.err
    assert "MEMORY.md contains it, too" in done.err
    assert filled.notes.read_text("utf-8").startswith(f"{LESSON}, I wrote\n")


def test_an_interrupted_purge_is_completed_by_the_next_purge(filled: Shell) -> None:
    pending = filled.memory / "purging.json"
    id_ = filled.run("recall", "--json", "timeouts").json["results"][0]["id"]
    filled.run("forget", id_, "--purge", "--yes")
    pending.write_text(
        '{"request": "gone", "project_dir": "' + str(filled.project) + '", "everywhere": false, '
        '"ids": [], "texts": ["nobody ever said such a thing"], "stores": {}, "memories": 1}',
        "utf-8",
    )

    warned = filled.run("check")
    done = filled.run("forget", "gone", "--purge", "--yes")

    assert warned.status == 1 and "purge was stopped" in warned.out
    assert done.status == 0 and done.out.startswith("Erased: 1")
    assert not pending.exists()


def test_purge_with_a_confirmation_code_never_prints_the_erased_words(filled: Shell) -> None:
    filled.remember("The gate opens with tangerine-walrus")
    filled.remember("Tangerine-Walrus is what the shop is called")

    shown = filled.run("forget", "tangerine-walrus", "--purge")
    code = shown.out.split("--confirm ")[1].split()[0]
    wrong = filled.run("forget", "tangerine-walrus", "--purge", "--confirm", "00000000")
    done = filled.run("forget", "tangerine-walrus", "--purge", "--confirm", code)
    again = filled.run("forget", "tangerine-walrus", "--purge")

    assert "records that state it and are deleted: 2" in shown.out
    assert "changes in the history in which it is replaced: 2" in shown.out
    assert (wrong.status, done.status, again.status) == (2, 0, 3)
    assert "The gate opens with [erased]" in shown.out
    assert done.out.splitlines()[-1] == "Erased: 2. No file of this memory contains it any more."
    assert "MEMORY.md" not in shown.err
    assert "are nowhere in this memory" in again.err
    said = "".join(run.out + run.err for run in (shown, wrong, done, again))
    assert "tangerine-walrus" not in said.lower()
    assert b"tangerine-walrus" not in bytes_of(filled).lower()


def test_purge_refuses_a_short_word(filled: Shell) -> None:
    done = filled.run("forget", "1M", "--purge", "--yes")

    assert done.status == 2 and "by its id, or use --exact" in done.err
    assert LESSON.encode() in bytes_of(filled)


def test_purge_exits_with_code_1_if_the_words_remain_in_another_project(filled: Shell) -> None:
    here = filled.project
    filled.project = filled.user_home.parent / "forum"
    (filled.project / ".git").mkdir(parents=True)
    filled.remember("The gate opens with tangerine-walrus")
    filled.project = here
    filled.remember("The gate opens with tangerine-walrus")

    first = filled.run("forget", "tangerine-walrus", "--purge", "--yes")
    second = filled.run("forget", "tangerine-walrus", "--purge", "--yes", "--everywhere")

    assert first.status == 1 and "use --everywhere" in first.err
    assert second.status == 0, second.err
    assert b"tangerine-walrus" not in bytes_of(filled)


def test_purge_by_id_reports_how_many_texts_were_too_short_to_search(filled: Shell) -> None:
    id_ = filled.remember("Postgres")["id"]

    done = filled.run("forget", id_, "--purge", "--yes")

    assert done.status == 0, done.err
    assert (
        "except for texts too short to search for, which a purge of their own words erases: 1."
        in done.out
    )


def test_forgetting_an_entity_keeps_records_that_also_mention_another_entity(shell: Shell) -> None:
    alone = shell.run("remember", "We decided to use Kafka because it scales.", "--json").json
    both = shell.run("remember", "Kafka feeds PostgreSQL every night.", "--json").json

    preview = shell.run("forget", "Kafka", "--json").json
    shown = shell.run("forget", "Kafka").out
    gone = shell.run("forget", "Kafka", "--yes", "--json").json
    found = shell.run("recall", "Kafka", "--json").json["results"]
    shell.run("undo", "--last")
    back = shell.run("recall", "Kafka", "--json").json["results"]

    assert [record["id"] for record in preview["records"]] == [alone["id"]]
    assert [record["id"] for record in preview["kept"]] == [both["id"]]
    assert "stays" in shown and "also about PostgreSQL" in " ".join(shown.split())
    assert gone["forgotten"] == 2
    assert f"record:{alone['id']}" not in [hit["id"] for hit in found]
    assert f"record:{alone['id']}" in [hit["id"] for hit in back]


@pytest.mark.parametrize(
    ("next_text", "is_reported"), [("offset timeouts", False), ("cursor-based", True)]
)
def test_the_next_purge_completes_a_purge_interrupted_by_ctrl_c_and_reports_it_if_of_other_words(
    filled: Shell, monkeypatch: pytest.MonkeyPatch, next_text: str, *, is_reported: bool
) -> None:

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(purge_steps, "renew_backups", interrupted)
        stopped = filled.run("forget", "offset timeouts", "--purge", "--yes")
    left = filled.run("check")
    done = filled.run("forget", next_text, "--purge", "--yes")

    assert stopped.status == 130
    assert "The same command erases the rest" in stopped.err
    assert "purge was stopped" in left.out
    assert done.status == 0
    assert ("an interrupted purge was completed" in done.err) is is_reported
    assert LESSON.encode() not in bytes_of(filled)


def test_purge_with_yes_does_not_compute_a_preview(
    filled: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    previews: list[object] = []
    monkeypatch.setattr(purging, "preview", lambda *asked: previews.append(asked))

    done = filled.run("forget", "offset", "timeouts", "--purge", "--yes")

    assert done.status == 0
    assert previews == []


def test_forget_accepts_only_the_code_of_its_preview(filled: Shell) -> None:
    code = filled.run("forget", "pagination", "--json").json["code"]

    wrong = filled.run("forget", "pagination", "--confirm", "00000000")
    done = filled.run("forget", "pagination", "--confirm", code)

    assert wrong.status == 2 and "The matches have changed since this preview" in wrong.err
    assert "\nForgotten: 2. Journals and backups keep copies" in done.out
    assert done.out.endswith(" memory-fabric undo --last restores it.\n")
    assert filled.run("forget", "pagination").status == 3


def test_the_preview_of_an_entity_counts_its_observations_and_shows_what_stays(
    shell: Shell,
) -> None:
    entity = '{"type":"entity","name":"Redis","entityType":"technology","observations":["x"]}'
    shell.run("import", "-", stdin=entity)
    shell.remember("Use Redis for the sessions")

    lines = [" ".join(line.split()) for line in shell.run("forget", "Redis").out.splitlines()]

    assert "entity (technology) Redis, own observations: 1" in lines
    assert any("decision, stays" in line and "(also about sessions" in line for line in lines)
    assert lines[-1].startswith("This would be forgotten; nothing was changed.")


@pytest.mark.parametrize("option", ["--exact", "--inside", "--everywhere"])
def test_options_of_a_purge_are_refused_without_it(filled: Shell, option: str) -> None:
    done = filled.run("forget", "offset", option)

    assert done.status == 2 and "need --purge" in done.err


def test_a_purge_in_json_counts_what_it_would_erase(filled: Shell) -> None:
    told = filled.run("forget", "offset", "timeouts", "--purge", "--json").json

    assert (told["forgotten"], told["purge"]["records"]) == (0, 1)
    assert (told["purge"]["can_be_undone"], told["purge"]["elsewhere"]) == (False, [])
    assert "purged" not in told and LESSON.encode() in bytes_of(filled)
