"""remember, pin: what is stored, and where (BR-11, BR-15)."""

from __future__ import annotations

import json
import shlex
import time

import pexpect
import pytest

from cli.shell import Shell
from cli.terminal import interrupt

BR_11 = "Use cursor-based pagination for all list endpoints"


def test_br_11_a_decision_is_stored_in_graph_journal_and_memory_md(shell: Shell) -> None:
    record = shell.remember(BR_11)

    assert {"name": "cursor-pagination", "type": "pattern"} in record["entities"]
    assert {"name": "list-endpoints", "type": "component"} in record["entities"]
    chosen = {"from": "shop", "relation": "chose", "to": "cursor-pagination"}
    assert chosen in record["relations"]
    assert record["confidence"] >= 0.7
    assert record["tiers"] == ["graph", "decisions.jsonl", "MEMORY.md"]
    assert BR_11 in (shell.project / ".claude/memory/decisions.jsonl").read_text("utf-8")
    assert BR_11 in shell.notes.read_text("utf-8")


def test_br_15_success_failed_and_global_options_set_outcome_and_scope(shell: Shell) -> None:
    plain = shell.remember("Use PostgreSQL for the orders")
    success = shell.remember("--success", "Cursor-based pagination scales for 2M+ rows")
    failed = shell.remember("--failed", "Offset pagination caused timeouts at 1M rows")
    everywhere = shell.remember("--global", "Always validate input at API boundaries")

    assert (plain["scope"], plain["outcome"]) == ("team", "neutral")
    assert (success["type"], success["outcome"]) == ("pattern", "success")
    assert (failed["type"], failed["outcome"]) == ("antipattern", "failed")
    assert everywhere["scope"] == "global"
    assert not {"author", "origin", "project"} & set(everywhere)
    assert everywhere["tiers"] == ["graph"]


def test_remember_stores_the_values_of_its_options(shell: Shell) -> None:
    record = shell.remember(
        *("--type", "constraint", "--scope", "user", "--why", "auditors ask for it"),
        *("--category", "compliance", "--agent", "security-auditor", "--domain", "audit"),
        "Log files carry no names",
    )

    assert record["type"] == "constraint"
    assert record["scope"] == "user"
    assert record["why"] == "auditors ask for it"
    assert record["category"] == "compliance"
    assert (record["agent"], record["domain"]) == ("security-auditor", "audit")


def test_remember_with_a_dash_reads_standard_input(shell: Shell) -> None:
    done = shell.run(
        "remember", "-", "--json", stdin="We chose Redis over Memcached,\nit persists\n"
    )

    assert done.json["what"].startswith("We chose Redis over Memcached")
    assert {"from": "Redis", "relation": "chose_over", "to": "Memcached"} in done.json["relations"]


def test_unquoted_words_after_remember_are_joined_into_one_text(shell: Shell) -> None:
    assert shell.remember(*BR_11.split())["what"] == BR_11


def test_remembering_the_same_text_twice_returns_the_existing_record(shell: Shell) -> None:
    first = shell.remember(BR_11)

    second = shell.remember(BR_11)

    assert second["repeated"] and not first["repeated"]
    assert second["id"] == first["id"]


def test_remember_reports_new_entities_known_entities_and_observations(
    shell: Shell,
) -> None:
    first = shell.remember(BR_11)
    second = shell.remember("We chose cursor-based pagination over offset pagination for exports")

    assert first["new_entities"] == ["cursor-pagination", "list-endpoints", "shop"]
    assert first["known_entities"] == []
    assert first["observations"] == 3
    assert "cursor-pagination" in second["known_entities"]
    assert "offset-pagination" in second["new_entities"]


def test_remembering_the_same_text_twice_reports_no_new_entities(shell: Shell) -> None:
    shell.remember(BR_11)

    again = shell.remember(BR_11)

    assert again["new_entities"] == []
    assert again["known_entities"] == ["cursor-pagination", "list-endpoints", "shop"]


def test_remember_replaces_a_memory_only_with_the_option_instead_of(shell: Shell) -> None:
    old = shell.remember("We use MongoDB for the orders")

    beside = shell.remember("We moved from MongoDB to PostgreSQL for the orders")
    new = shell.remember("Use PostgreSQL for the orders", "--instead-of", old["short_id"])
    shown = shell.run("why", old["short_id"]).out

    assert beside["replaces"] == []
    assert new["replaces"] == [old["id"]]
    assert new["short_id"] in shown


def test_the_command_that_replaces_a_memory_also_replaces_one_from_when_the_clock_was_ahead(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        now = time.time
        patch.setattr(time, "time", lambda: now() + 3600)
        old = shell.remember("Use npm for the packages")
    shell.remember("Use pnpm instead of npm for the packages")

    done = shell.remember(
        "Use pnpm instead of npm for the packages", "--instead-of", old["short_id"]
    )

    assert (done["replaces"], done["opposite"]) == ([old["id"]], [])


def test_a_conflicting_decision_is_shown_with_the_command_that_replaces_it(shell: Shell) -> None:
    old = shell.remember("Use npm for the packages")

    shown = shell.run("remember", "Use pnpm instead of npm for the packages").out.splitlines()
    (hint,) = [line for line in shown if line.startswith("On record: ")]
    command = shlex.split(hint.partition("Replace it: memory-fabric ")[2])
    done = shell.run(*command, "--json").json

    assert hint.startswith(f"On record: [{old['short_id']}] Use npm for the packages. Replace it: ")
    assert done["repeated"]
    assert done["replaces"] == [old["id"]]
    assert done["opposite"] == []


def test_remember_with_instead_of_refuses_a_memory_of_another_scope(shell: Shell) -> None:
    old = shell.remember("--scope", "user", "I use npm")

    done = shell.run("remember", "Use pnpm", "--instead-of", old["short_id"])
    unknown = shell.run("remember", "Use pnpm", "--instead-of", "0123abcd")

    assert (done.status, unknown.status) == (2, 3)
    assert "Add --scope user --domain general" in done.err
    assert "No memory has the id '0123abcd'" in unknown.err
    assert [hit["text"] for hit in shell.run("recall", "--json").json["results"]] == ["I use npm"]


def test_remember_accepts_the_type_names_rule_fact_and_fix(shell: Shell) -> None:
    kinds = {k: shell.remember("--type", k, f"The {k}")["type"] for k in ("rule", "fact", "fix")}

    assert kinds == {"rule": "constraint", "fact": "note", "fix": "solution"}
    assert shell.run("recall", "The rule", "type:rule", "--json").json["total_results"] == 1


def test_recall_finds_a_memory_by_words_given_with_the_option_also(shell: Shell) -> None:
    record = shell.remember(
        *("--when", "npm run dev", "--also", "hot reload"), "Never start the server"
    )
    again = shell.remember("--also", "something else", "Never start the server")

    assert record["evidence"] == {"when": "npm run dev", "also": "hot reload"}
    assert again["evidence"] == record["evidence"]
    assert shell.run("recall", "hot reload", "--json").json["total_results"] == 1


def test_remember_refuses_success_together_with_failed(shell: Shell) -> None:
    done = shell.run("remember", "--success", "--failed", "Offset pagination")

    assert done.status == 2
    assert "contradict each other" in done.err
    assert shell.run("recall").status == 3


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--success", "--type", "antipattern", "x"], "contradict each other"),
        (["--failed", "--type", "pattern", "x"], "contradict each other"),
        (["--instead", "y", "x"], "Add --failed"),
        (["--global", "--scope", "user", "x"], "Use one of them"),
        (["--type", "thought", "x"], "There is no type 'thought'"),
        (["--scope", "moon", "x"], "There is no scope 'moon'"),
        (["--scope", "local", "x"], "this shell is not part of one"),
        ([], "The text is empty"),
        (["--failed", "  "], "The text is empty"),
    ],
    ids=" ".join,
)
def test_remember_refuses_invalid_input_with_a_remedy(
    shell: Shell, words: list[str], asked: str
) -> None:
    done = shell.run("remember", *words)

    assert done.status == 2
    assert asked in done.err
    assert done.out == ""


def test_remember_accepts_an_unknown_category_and_agent(shell: Shell) -> None:
    record = shell.remember("--category", "gardening", "--agent", "rose-keeper", "Water at dawn")

    assert (record["category"], record["agent"]) == ("gardening", "rose-keeper")


def test_a_text_over_the_limit_is_cut_at_a_word_and_the_excess_is_counted(shell: Shell) -> None:
    text = "All of this counts. " * 2000

    done = shell.run("remember", "-", "--json", stdin=text)

    kept = done.json["what"].removesuffix("…")
    assert done.status == 0
    assert 16_000 < len(kept) < 16 << 10
    assert text.startswith(f"{kept} ")
    assert done.json["left_out_chars"] == len(text.strip()) - len(kept)
    assert f"{done.json['left_out_chars']} are left out" in done.err


def test_a_reason_over_the_limit_is_cut_with_a_notice(shell: Shell) -> None:
    done = shell.run("remember", "Use tabs", "--json", "--why", "it is so " * 4000)

    assert len(done.json["why"]) <= 16 << 10
    assert "the reason has 35999 characters and was cut" in done.err


def test_remember_shows_a_command_that_adds_the_missing_lesson_to_a_failure(shell: Shell) -> None:
    text = "Offset pagination doesn't scale"

    shown = shell.run("remember", "--failed", text).out
    record = shell.remember("--failed", text)

    command = shown.splitlines()[-1].partition("Add what to do instead with memory-fabric ")[2]
    assert "has no lesson yet" in shown
    assert record["asks"] == "lesson"
    lesson = "use cursor-pagination"
    completed = shell.run(*shlex.split(command.replace("…", lesson)), "--json").json
    assert completed["id"] == record["id"]
    assert completed["why"] == f"instead: {lesson}"
    assert {"name": "cursor-pagination", "type": "pattern"} in completed["entities"]
    assert "asks" not in completed


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--why", "it scans all rows"], "it scans all rows"),
        (["--instead", "use cursors"], "instead: use cursors"),
        (["--why", "it scans", "--instead", "use cursors"], "it scans; instead: use cursors"),
    ],
    ids=["reason", "lesson", "both"],
)
def test_remember_requests_no_lesson_for_a_failure_with_a_reason_or_lesson(
    shell: Shell, words: list[str], why: str
) -> None:
    record = shell.remember("--failed", *words, "Offset pagination on big tables")

    assert record["why"] == why
    assert "asks" not in record


def test_recall_and_load_show_the_lesson_of_a_failure(shell: Shell) -> None:
    shell.remember("--failed", "--instead", "use cursors", "Offset pagination on big tables")

    recalled = shell.run("recall", "offset pagination").out
    loaded = shell.run("load").out

    assert "Offset pagination on big tables — instead: use cursors" in recalled
    assert "Offset pagination on big tables — instead: use cursors" in loaded


@pytest.mark.parametrize(("answer", "why"), [("use cursors", "instead: use cursors"), ("", "")])
def test_remember_asks_for_a_lesson_in_a_terminal(shell: Shell, answer: str, why: str) -> None:
    terminal = shell.terminal("remember", "--failed", "Offset pagination on big tables")

    terminal.expect(r"What to do instead\? ")
    before = shell.run("recall").status
    terminal.sendline(answer)
    terminal.expect(pexpect.EOF)

    assert before == 3  # nothing is stored before the answer
    assert ("It has no lesson yet" in terminal.before) is (not why)
    [found] = shell.run("recall", "offset", "type:antipattern", "--json").json["results"][:1]
    assert found["metadata"]["why"] == why


def test_interrupting_the_question_for_a_lesson_stores_nothing(shell: Shell) -> None:
    terminal = shell.terminal("remember", "--failed", "Offset pagination on big tables")

    terminal.expect(r"What to do instead\? ")
    interrupt(terminal)

    assert shell.run("recall").status == 3


def test_an_earlier_failure_is_shown_when_a_success_is_remembered(shell: Shell) -> None:
    failed = shell.remember("--failed", "Offset pagination caused timeouts at 1M rows")

    done = shell.run("remember", "--success", "Offset pagination is fine below 10k rows")
    chosen = shell.remember("Use offset pagination for all list endpoints")
    other = shell.remember("--success", "Cursor-based pagination scales for 2M+ rows")

    day = failed["created_at"][:10]
    line = f"earlier, {day}: failed: {failed['what']} ({failed['short_id']})"
    assert line in done.out.splitlines()
    assert chosen["opposite"] == [
        {
            "id": failed["id"],
            "short_id": failed["short_id"],
            "date": day,
            "outcome": "failed",
            "what": failed["what"],
            "text": line,
        }
    ]
    assert other["opposite"] == []
    # It is told, not closed.
    assert shell.run("recall", "offset timeouts", "type:antipattern").status == 0


def test_an_earlier_decision_is_shown_when_a_failure_is_remembered(shell: Shell) -> None:
    chosen = shell.remember("We decided to use Redis for sessions")
    shell.remember("Use Redis for the rate limiter")

    failed = shell.remember("--failed", "Redis for sessions lost logins on restart")

    assert [(o["id"], o["outcome"]) for o in failed["opposite"]] == [(chosen["id"], "decision")]


def test_success_and_failure_of_the_same_text_are_separate_memories(shell: Shell) -> None:
    worked = shell.remember("--success", "Retrying the upload three times")

    failed = shell.remember("--failed", "Retrying the upload three times")

    assert not failed["repeated"]
    assert (failed["type"], failed["outcome"]) == ("antipattern", "failed")
    assert [o["id"] for o in failed["opposite"]] == [worked["id"]]


def test_a_secret_in_a_remembered_text_is_not_stored(shell: Shell) -> None:
    secret = "ghp_" + "Ab1" * 12

    shell.remember(f"Always deploy with the token {secret}")

    whole = b"".join(p.read_bytes() for p in shell.user_home.rglob("*") if p.is_file())
    assert secret.encode() not in whole


def test_a_record_is_queued_if_the_graph_database_is_damaged(shell: Shell) -> None:
    shell.remember("Always use UTC in the logs")
    shell.database.write_bytes(b"no database " * 400)
    for ending in ("-wal", "-shm"):
        shell.database.with_name(shell.database.name + ending).unlink(missing_ok=True)

    record = shell.remember(BR_11)

    assert "queue" in record["tiers"]
    assert record["failures"]


def test_load_lists_a_pinned_memory_first_until_it_is_unpinned(shell: Shell) -> None:
    record = shell.remember("Never log names")
    shell.remember(BR_11)

    pinned = shell.run("pin", record["short_id"])
    state = " ".join(shell.run("why", record["short_id"]).out.split())
    loaded = shell.run("load").out
    unpinned = shell.run("pin", record["short_id"], "--off", "--json").json

    assert pinned.out.startswith("Pinned: ")
    assert "state active, pinned" in state
    assert 0 < loaded.index("Never log names") < loaded.index(BR_11)
    assert unpinned["pinned"] is False
    assert shell.run("pin", record["short_id"], "--off").out.startswith("Not pinned: ")
    assert "pinned" not in shell.run("load").out


def test_stored_files_are_readable_only_by_their_owner(shell: Shell) -> None:
    shell.remember(BR_11)

    loose = [p for p in shell.memory.rglob("*") if p.stat().st_mode & 0o077]

    assert loose == []


@pytest.mark.parametrize("text", ["\u200b\u200d\ufeff", "\x01\x02\x7f", "...", "\u202e\u3000"])
def test_remember_refuses_an_empty_text(shell: Shell, text: str) -> None:
    done = shell.run("remember", "-", stdin=text)

    assert (done.status, done.out) == (2, "")
    assert "The text is empty" in done.err


def test_remember_redacts_a_secret_but_refuses_a_text_that_is_only_a_secret(shell: Shell) -> None:
    secret = "ghp_" + "a1B2" * 9

    done = shell.run("remember", "-", stdin=secret)
    more = shell.remember(f"The runner uses {secret}")

    assert (done.status, done.out) == (2, "")
    assert "only a secret" in done.err
    assert more["what"] == "The runner uses [redacted: token]"


@pytest.mark.parametrize("text", ["password={}", "my password is {}", "API key: {}"])
def test_remember_refuses_a_text_with_only_a_secret_and_its_label(shell: Shell, text: str) -> None:
    done = shell.run("remember", text.replace("{}", "a8" + "Kd93jfQ2x"))

    assert (done.status, done.out) == (2, "")
    assert "only a secret" in done.err


@pytest.mark.parametrize(
    "text",
    [
        "The password of the staging database is {} until Friday",
        "We log in to Grafana as admin / {} for now",
        "Das Passwort für PostgreSQL lautet {}",
        "Use `{}` as the password for Redis",
    ],
)
def test_a_password_in_a_sentence_is_not_stored_in_any_file(shell: Shell, text: str) -> None:
    secret = "Tulpen" + "Feld77"

    record = shell.remember(text.replace("{}", secret))

    assert secret not in json.dumps(record)
    held = [path for path in shell.user_home.rglob("*") if path.is_file()]
    assert held and [p for p in held if secret.encode() in p.read_bytes()] == []


def test_control_characters_are_removed_before_a_text_is_stored(shell: Shell) -> None:
    done = shell.run("remember", "--json", "-", stdin="use\x00 Redis\x1b[31m for the queue")
    again = shell.remember(BR_11)

    assert done.json["what"] == "use Redis for the queue"
    assert "MEMORY.md" in done.json["tiers"]
    assert "MEMORY.md" in again["tiers"]
    assert "\0" not in shell.notes.read_text("utf-8")


def test_a_lesson_over_the_limit_is_cut_with_a_notice(shell: Shell) -> None:
    done = shell.run("remember", "--failed", "--instead", "less " * 5000, "Offsets time out")

    assert done.status == 0
    assert "the lesson has 24999 characters and was cut at a word" in done.err


def test_the_why_command_reports_that_an_undone_memory_was_removed(shell: Shell) -> None:
    kept = shell.run("remember", "Orders are numbered by year", "--json").json
    shell.run("undo", "--last")

    shown = shell.run("why", kept["id"]).out

    assert "state removed" in " ".join(shown.split())


def test_remember_shows_what_it_stored_and_where(shell: Shell) -> None:
    rule = ("remember", "Use tabs in Makefiles", "--type", "rule")
    first = shell.run(*rule, "--why", "make needs them", "--when", "npm run dev").out
    again = shell.run(*rule).out

    assert first.startswith("Remembered: rule ")
    assert [" ".join(line.split()) for line in first.splitlines()[1:]] == [
        "what Use tabs in Makefiles",
        "why make needs them",
        "when npm run dev (binds: command npm run dev)",
        "new entities Makefiles (technology)",
        "graph 1 observation",
        "domain general",
        "scope team, confidence 0.95",
        "stored in graph, decisions.jsonl, MEMORY.md",
    ]
    assert again.startswith("Already known, now stronger: rule ")
    assert "known entities  Makefiles (technology)" in again and "new entities" not in again


def test_a_condition_of_a_fact_binds_nothing_and_is_shown_as_it_is(shell: Shell) -> None:
    shown = shell.run("remember", "Ports start at 8000", "--type", "fact", "--when", "npm run dev")

    assert "when npm run dev domain general" in " ".join(shown.out.split())
    assert "binds" not in shown.out


def test_the_suggested_command_names_scope_and_domain_unless_they_are_the_default(
    shell: Shell,
) -> None:
    failed = ("remember", "--failed", "Offset pagination fails")
    default = shell.run(*failed).out
    other = shell.run(*failed, "--scope", "user", "--domain", "ops").out

    assert default.endswith("--instead '…' 'Offset pagination fails'\n")
    assert other.endswith("--instead '…' --scope user --domain ops 'Offset pagination fails'\n")


def test_the_suggested_command_does_not_repeat_a_long_text(shell: Shell) -> None:
    repeated = shell.run("remember", "--failed", f"Offsets {'x' * 392}").out
    long = shell.run("remember", "--failed", f"Offsets {'y' * 393}").out

    assert repeated.endswith(f" 'Offsets {'x' * 392}'\n")
    assert long.endswith(" the same words\n")


@pytest.mark.parametrize(
    "words",
    ["--success --type pattern", "--failed --type antipattern", "--global --scope global"],
)
def test_remember_accepts_options_that_agree(shell: Shell, words: str) -> None:
    assert shell.run("remember", *words.split(), "Page by cursors").status == 0
