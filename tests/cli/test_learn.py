"""learn: the preview, the question, the run, and taking it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.shell import Shell
from cli.terminal import finish, start
from command_line import run_here
from importing.past import Machine, fixed
from memory_fabric.cli import show

ASKED = "Please add an index to the orders table of the shop."
ANSWER = "The invoice export writes CSV with semicolons, because Excel in Germany needs them."


@pytest.fixture
def machine(tmp_path: Path, shell: Shell) -> Machine:
    """The sessions on the machine of the shell: two of its project, one of a deleted folder."""
    found = Machine(tmp_path)
    steps = fixed("pytest tests/test_orders.py", "E   AssertionError: got 2 orders", "orders.py")
    found.session(shell.project, ASKED, *steps, ANSWER, days_ago=26)
    found.session(shell.project, "Now the customers table.", "Done.", days_ago=2)
    found.session(tmp_path / "gone", "Hello.", "Hi.", days_ago=2)
    return found


def test_learn_without_options_counts_past_sessions_and_changes_nothing(
    shell: Shell, machine: Machine
) -> None:
    done = shell.run("learn")

    assert done.status == 0
    assert "3 sessions of Claude Code since" in done.out
    assert "2 not in memory yet" in done.out
    assert "Left out, folder deleted or moved" in done.out
    assert f"of {machine.folder}/gone" in done.out
    assert "Claude Code deletes 2 unread sessions from" in done.out
    assert "1 of them within 7 days" in done.out
    table = [line.split() for line in done.out.splitlines()[1:4]]
    assert table[0][:4] == ["project", "sessions", "to", "read"]
    assert table[1][:3] == ["shop", "2", "2"] and table[1][-1] == str(shell.project)
    assert table[1][4] != "-" and table[1][3] < table[2][3] < table[1][4]
    assert (table[2][:3], table[2][4]) == (["gone", "1", "-"], "-")
    assert not list(shell.memory.glob("projects/*"))


def test_recall_finds_past_sessions_after_learn_has_run(shell: Shell, machine: Machine) -> None:
    done = shell.run("learn", "--run", "--json")

    assert done.status == 0, done.err
    [project] = done.json["projects"]
    assert project["name"] == "shop" and project["sessions"] == 2 and project["turns"] == 4
    found = shell.run("recall", "why does the invoice export use semicolons?", "--json").json
    assert "Excel in Germany" in str(found)
    read = shell.run("learn").out.splitlines()
    assert read[0].endswith("; none to read.") and "learn --run" not in "".join(read)
    assert read[2].split()[:3] == ["shop", "2", "-"]
    again = shell.run("learn", "--run").out
    assert again.startswith("Nothing to read.\nLeft out, folder deleted or moved (--folder OLD=NEW")
    assert shell.run("learn", "--json").json["to_read"] == 0


def test_learn_saves_the_new_path_of_a_moved_folder(shell: Shell, machine: Machine) -> None:
    (machine.folder / "here").mkdir()
    stated = f"{machine.folder}/gone={machine.folder}/here"

    assert shell.run("learn", "--folder", "gone").status == 2
    assert shell.run("learn", "--folder", f"gone={machine.folder}/nowhere").status == 2
    assert shell.run("learn", "--folder", stated, "--json").json["to_read"] == 3
    shell.run("learn", "--folder", stated, "--run")

    assert shell.run("learn", "--run").out.strip() == "Nothing to read: memory has all sessions."


def test_learn_undo_reverts_the_last_run_of_learn(shell: Shell, machine: Machine) -> None:
    shell.run("learn", "--run")

    done = shell.run("learn", "--undo")

    assert done.status == 0 and "taken back" in done.out
    assert shell.run("recall", "semicolons").status == 3
    assert shell.run("learn", "--json").json["to_read"] == 2
    assert shell.run("learn", "--undo").status == 3


def test_learn_here_reads_only_the_sessions_of_this_project(shell: Shell, machine: Machine) -> None:
    other = machine.project("other")
    machine.session(other, "Something else.", "Yes.")

    done = shell.run("learn", "--here", "--run", "--json")

    assert [project["name"] for project in done.json["projects"]] == ["shop"]
    assert shell.run("learn", "--json").json["to_read"] == 1


def test_learn_changes_nothing_if_the_user_answers_no(shell: Shell, machine: Machine) -> None:
    terminal = start(shell, "learn")
    terminal.expect("Read them now")
    terminal.sendline("n")

    status, _ = finish(terminal)

    assert status == 0
    assert shell.run("learn", "--json").json["to_read"] == 2


def test_learn_refuses_to_run_in_ci_or_while_memory_is_off(shell: Shell, machine: Machine) -> None:
    assert shell.run("learn", "--run", CI="true").status == 1
    shell.run("off")

    done = shell.run("learn", "--run")

    assert done.status == 1 and "switched off" in done.err


def test_learn_condensed_begins_with_the_number_and_size_of_the_sessions(
    shell: Shell, machine: Machine
) -> None:
    shell.run("learn", "--run")

    assert "2 sessions of shop: in condensed form about" in (
        shell.run("learn", "--condensed", "--budget", "0").out
    )
    told = shell.run("learn", "--condensed").out.splitlines()
    assert told[0].startswith("2 of 2 sessions of shop, newest first: about ")
    assert "- asked: Now the customers table." in told
    assert ASKED in "".join(told)
    assert shell.run("learn", "--condensed", "--json").json["sessions"] == 2
    assert not any(line.startswith("Older ones") for line in told)
    part = shell.run("learn", "--condensed", "--budget", "20").out.splitlines()
    assert part[0].startswith("1 of 2 sessions of shop, newest first: about ")
    before = part[-1].partition("Older ones: memory-fabric learn --condensed --before ")[2]
    older = shell.run("learn", "--condensed", "--before", before, "--json").json
    assert older["sessions"] == 1 and ASKED in str(older["lines"])


def test_learn_condensed_keeps_sessions_of_an_isolated_domain_separate(
    shell: Shell, machine: Machine
) -> None:
    legal = shell.project / "legal"
    legal.mkdir()
    machine.session(legal, "Write the contract with Acme.", "Done.")
    shell.memory.mkdir(parents=True, exist_ok=True)
    (shell.memory / "config.toml").write_text(
        f"[domains.legal]\npaths = ['{legal}']\nisolate = true\n", "utf-8"
    )
    shell.run("learn", "--run")

    here = shell.run("learn", "--condensed")
    there = run_here(("learn", "--condensed"), shell.environ, legal)

    assert ASKED in here.out and "Acme" not in here.out
    assert "Acme" in there.out and ASKED not in there.out
    limited = shell.run("learn", "--condensed", MEMORY_FABRIC_DOMAIN="legal")
    assert "Acme" in limited.out and ASKED not in limited.out


def test_status_counts_read_and_unread_transcripts(shell: Shell, machine: Machine) -> None:
    before = shell.run("status")
    assert "no session of Claude Code from before the installation is read yet" in before.out
    assert "not read: 2 sessions of shop" in before.out
    assert "Claude Code deletes 2 unread sessions" in before.out

    shell.run("learn", "--run")

    after = shell.run("status")
    assert "memory has all 2 sessions of Claude Code since" in after.out
    assert "left out: 1" in after.out
    machine.session(machine.project("atlas"), "Draw the lakes.", "Done.", days_ago=1)
    told = shell.run("status", "--json").json["transcripts"]
    assert (told["to_read"], told["unread_projects"]) == (1, ["atlas"])
    assert told["read_until"] and told["next_deletion"] == ""


def test_learn_does_not_store_purged_words_again(shell: Shell, machine: Machine) -> None:
    word = "tangerine-walrus"
    steps = fixed(f"deploy --as {word}", f"E   RuntimeError: {word} was refused by it", "gate.py")
    machine.session(shell.project, f"Log in as {word} at the gateway.", *steps, f"{word} works.")
    shell.run("learn", "--run")
    assert holding(shell, word)

    shell.run("forget", word, "--purge", "--yes")
    assert holding(shell, word) == []

    shell.run("learn", "--undo")
    shell.run("learn", "--run")
    assert holding(shell, word) == []


def holding(shell: Shell, word: str) -> list[str]:
    """Files of ours that hold a word; the client's transcripts do."""
    places = (shell.memory, shell.project / ".claude")
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    return [path.name for path in files if word.encode() in path.read_bytes().lower()]


def test_learn_reports_that_there_are_no_sessions(shell: Shell) -> None:
    assert "No sessions" in shell.run("learn").out
    assert "transcript" not in shell.run("status").out


def test_undo_can_revert_one_learned_memory_or_a_whole_learn_run(
    shell: Shell, machine: Machine
) -> None:
    noted = "Done.\n\nNoted fact: The shop's totals are in cents."
    machine.session(shell.project, "Now the totals.", noted, days_ago=3)
    shell.run("learn", "--run")
    made = shell.run("history", "--json").json
    first = next(one["id"] for one in made if "totals are in cents" in one["what"])

    alone = shell.run("undo", first).out
    whole = shell.run("undo", "--last").out

    assert alone.count("Undone: ") == 1 and "totals are in cents" in alone
    assert "Undone: read past sessions in. Its turns are deleted." in whole
    assert "learn --undo is for all projects" in whole
    assert shell.run("learn", "--json").json["to_read"] == 3


MOCK = "DO NOT CONTINUE USING THE MOCK DATABASE"
PNPM = "Always install packages with pnpm."


def proposed(shell: Shell, machine: Machine) -> dict[str, str]:
    """The ids of the sentences in two projects that `learn` proposes after its run."""
    for days_ago in (9, 7, 5):
        machine.session(shell.project, f"Fix the header. {PNPM}", "Done.", days_ago=days_ago)
    machine.session(shell.project, MOCK, "Sorry.", days_ago=1)
    machine.session(machine.project("tool"), "Never format the vendored files.", "No.", days_ago=4)
    told = shell.run("learn", "--run").out
    assert told.index("shop: 2 proposals") < told.index(PNPM) < told.index(MOCK)
    assert "1 more in other projects: tool 1." in told and "vendored" not in told
    assert "said again in 2 other sessions" in " ".join(told.split())
    assert "learn --accept ID --accept 'ID=other words' --drop ID decides" in " ".join(told.split())
    told += run_here(("learn",), shell.environ, machine.project("tool")).out
    assert told.index(MOCK) < told.index("tool: 1 proposal of what you said")
    assert "2 more in other projects: shop 2." in told
    words = {line.split()[-1]: line.split()[0] for line in told.splitlines() if line.strip()}
    return {"mock": words["DATABASE"], "pnpm": words["sessions)"], "vendored": words["files."]}


def test_one_command_can_accept_edit_and_drop_proposals_of_several_projects(
    shell: Shell, machine: Machine
) -> None:
    ids = proposed(shell, machine)

    done = shell.run(
        *("learn", "--accept", f"{ids['mock']}=Never use the mock database", "--json"),
        *("--accept", ids["pnpm"], "--drop", "tool"),
    )

    assert done.status == 0, done.err
    results = [(one["done"], one["record"]["what"]) for one in done.json["results"]]
    assert sorted(results) == [
        ("forgotten", "Never format the vendored files."),
        ("remembered", PNPM),
        ("remembered", "Never use the mock database"),
    ]
    assert {one["record"]["trust"] for one in done.json["results"][:2]} == {"user"}
    assert "of what you said" not in shell.run("learn").out


def test_a_proposal_is_not_accepted_if_its_other_words_are_known(
    shell: Shell, machine: Machine
) -> None:
    ids, known = proposed(shell, machine), "Never use the mock database"
    shell.remember(known)

    done = shell.run("learn", "--accept", f"{ids['mock']}={known}")
    dropped = shell.run("learn", "--drop", f"{ids['mock']}={known}")

    assert done.status == 2 and "says this already" in done.err
    assert dropped.status == 2 and ids["mock"] in shell.run("learn").out


def test_undoing_a_learn_run_keeps_accepted_proposals(shell: Shell, machine: Machine) -> None:
    ids = proposed(shell, machine)
    words = "Never use the mock database"
    shell.run("learn", "--accept", f"{ids['mock']}={words}", "--accept", ids["pnpm"])

    done = shell.run("learn", "--undo").out

    assert "shop: " in done and "; kept, since you accepted or changed them: 2." in done
    kept = shell.run("recall", "pnpm packages, mock database", "--json").json["results"]
    assert {PNPM, words} <= {hit["text"] for hit in kept}
    assert "no session of Claude Code from before the installation" in shell.run("status").out
    assert shell.run("recall", "semicolons").status == 3


def test_status_shows_no_false_start_date_if_the_oldest_session_is_unread(
    shell: Shell, machine: Machine
) -> None:
    shell.run("learn", "--run")
    machine.session(machine.project("atlas"), "Draw the lakes.", "Done.", days_ago=40)

    told = shell.run("status").out

    assert "memory has 2 of " in told and "1970" not in told


def test_learn_shows_proposals_of_other_projects_if_this_project_has_none(
    shell: Shell, machine: Machine
) -> None:
    proposed(shell, machine)
    shell.run("learn", "--drop", "shop")

    told = shell.run("learn").out

    assert "tool: 1 proposal of what you said" in told and "vendored" in told
    assert "more in other projects" not in told


def test_an_unknown_or_repeated_proposal_id_is_refused_and_changes_nothing(
    shell: Shell, machine: Machine
) -> None:
    ids = proposed(shell, machine)

    for words in (("--accept", "nothing"), ("--drop", ids["mock"]), ("--accept", "shop=All")):
        done = shell.run("learn", "--accept", ids["mock"], *words)
        assert done.status == 2 and "is no proposal" in done.err
    assert "shop: 2 proposals" in shell.run("learn").out


def test_proposals_of_an_isolated_domain_are_shown_only_in_that_domain(
    shell: Shell, machine: Machine
) -> None:
    legal = shell.project / "legal"
    legal.mkdir()
    machine.session(legal, "Never name Acme in a contract draft.", "Done.")
    shell.memory.mkdir(parents=True, exist_ok=True)
    (shell.memory / "config.toml").write_text(
        f"[domains.legal]\npaths = ['{legal}']\nisolate = true\n", "utf-8"
    )

    assert "Acme" not in shell.run("learn", "--run").out
    assert "Acme" in run_here(("candidates",), shell.environ, legal).out


def test_learn_reports_that_sessions_older_than_90_days_were_not_stored(shell: Shell) -> None:
    machine = Machine(shell.user_home.parent)
    machine.session(shell.project, ASKED, ANSWER, days_ago=200)

    done = shell.run("learn", "--run")

    assert "1 session older than 90 days: of these only fixes are kept" in done.out
    assert "Nothing of these sessions was stored." in done.out
    assert "Memory has" not in done.out


def test_learn_run_without_a_terminal_prints_its_plan_and_its_progress(
    shell: Shell, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show, "LINE_EVERY_S", 0.0)

    done = shell.run("learn", "--run")

    assert done.out.startswith("3 sessions of Claude Code since")
    assert "Reading: 100 %" in done.err.splitlines()
    assert shell.run("learn", "--run", "--json").err == ""


@pytest.mark.parametrize(
    "words",
    [
        ("--run", "--undo"),
        ("--run", "--condensed"),
        ("--undo", "--drop", "x"),
        ("--run", "--accept", "x"),
    ],
)
def test_options_of_learn_that_exclude_each_other_are_refused(
    shell: Shell, machine: Machine, words: tuple[str, ...]
) -> None:
    done = shell.run("learn", *words)

    assert (done.status, done.out) == (2, "")
    assert "exclude each other" in done.err


def test_learn_is_refused_in_a_shell_of_an_isolated_domain(shell: Shell, machine: Machine) -> None:
    shell.memory.mkdir(parents=True, exist_ok=True)
    (shell.memory / "config.toml").write_text("[domains.legal]\nisolate = true\n", "utf-8")

    limited = shell.run("learn", MEMORY_FABRIC_DOMAIN="legal")
    other = shell.run("learn", MEMORY_FABRIC_DOMAIN="ops")

    assert limited.status == 2 and "limited to the domain legal" in limited.err
    assert other.status == 0


def test_learn_run_shows_what_it_made_of_each_project(shell: Shell, machine: Machine) -> None:
    first = [line.split() for line in shell.run("learn", "--run").out.splitlines()]
    second = shell.run("learn", "--run", "--json").json

    at = first.index(["project", "sessions", "turns", "fixes", "proposals"])
    assert first[at + 1][:3] == ["shop", "2", "4"]
    assert first[at + 2][:4] == ["Memory", "has", "these", "sessions"]
    assert second == {"run": "", "projects": [], "failures": []}


def test_a_secret_in_the_new_words_of_a_proposal_is_stored_nowhere(
    shell: Shell, machine: Machine
) -> None:
    id_, secret = proposed(shell, machine)["mock"], "hun" + "ter2ZX9"

    empty = shell.run("learn", "--accept", f"{id_}=...")
    done = shell.run("learn", "--accept", f"{id_}=The database password is {secret}")

    assert empty.status == 2 and "text is empty" in empty.err
    assert done.status == 0 and secret not in done.out
    places = (shell.memory, shell.project / ".claude")
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    assert [path.name for path in files if secret.encode() in path.read_bytes()] == []
