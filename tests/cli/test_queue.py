"""queue: what other programs sent, listed, shown, retried, dropped and worked off."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from cli.shell import Shell
from cli.terminal import finish, start
from memory_fabric.ingest_protocol import Ingest
from memory_fabric.models import Provenance
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues import ingest_queue
from memory_fabric.store.queues.ingest_queue import Accepted

SUMMARY = "We decided to use Redis for sessions because Postgres was too slow."


@pytest.fixture
def memory(shell: Shell) -> Iterator[Memory]:
    memory = shell.open_memory()
    yield memory
    memory.close()


def send(memory: Memory, text: str = SUMMARY, at: str = "", **fields: Any) -> str:
    by = Provenance("ingest", trust="tool", at=at)
    (told,) = ingest_queue.accept(memory, [Ingest(text, **fields)], by)
    assert isinstance(told, Accepted)
    return told.id


def dead(memory: Memory, text: str = SUMMARY, error: str = "it broke") -> str:
    """A text for which every attempt was in vain."""
    id_ = send(memory, text)
    for attempt in range(ingest_queue.MAX_ATTEMPTS):
        now = time.time() + attempt * ingest_queue.MOST_RETRY_S
        claimed = ingest_queue.claim(memory, "w", now, 1.0)
        assert claimed is not None
        ingest_queue.fail(memory, id_, "w", error, now)
    return id_


def listed(shell: Shell, *options: str) -> dict[str, str]:
    """State by id."""
    return {one["id"]: one["state"] for one in shell.run("queue", "--json", *options).json["texts"]}


def test_listing_an_empty_queue_creates_no_database(shell: Shell) -> None:
    done = shell.run("queue")
    assert (done.status, done.out, done.err) == (0, "The queue is empty.\n", "")
    assert shell.run("queue", "list", "--json").json == {
        "waiting": 0,
        "working": 0,
        "dead": 0,
        "oldest_at": "",
        "last_error": "",
        "texts": [],
    }
    assert not list(shell.memory.glob("projects/*/graph.db"))


def test_the_queue_lists_waiting_texts_and_failed_texts_with_their_errors(
    shell: Shell, memory: Memory
) -> None:
    broken, waiting = dead(memory, "much too odd"), send(memory, domain="legal")
    done = shell.run("queue")
    assert done.status == 0
    lines = done.out.splitlines()
    assert lines[0].split() == ["id", "state", "domain", "length", "came", "attempts", "error"]
    assert lines[1].split()[:4] == [broken[-8:], "dead", "session", "12"]
    assert lines[1].endswith("6         it broke")
    assert lines[2].split()[:4] == [waiting[-8:], "waiting", "legal", str(len(SUMMARY))]
    assert "1 waiting, 0 working, 1 dead." in lines[3]
    assert listed(shell) == {broken: "dead", waiting: "waiting"}
    assert list(listed(shell, "--limit", "1")) == [broken]


def test_queue_work_with_option_once_processes_the_waiting_texts(
    shell: Shell, memory: Memory
) -> None:
    id_ = send(memory)
    done = shell.run("queue", "work", "--once")
    assert (done.status, done.out, done.err) == (0, "1 text processed.\n", "")
    assert listed(shell) == {}
    assert listed(shell, "--done") == {id_: "done"}
    assert shell.run("queue", "work", "--once", "--json").json == {"done": 0, "failed": 0}
    assert "Redis" in shell.run("recall", "what is used for sessions").out


def test_queue_show_prints_a_received_text_and_the_records_created_from_it(
    shell: Shell, memory: Memory
) -> None:
    id_ = send(memory, key_decisions=("Kafka carries all events",), session_id="s1", project="web")
    shell.run("queue", "work", "--once")
    shown = shell.run("queue", "show", id_[-8:])
    assert shown.status == 0
    for part in (id_, "done", "Kafka carries all events", "s1", "web", SUMMARY):
        assert part in shown.out
    whole = shell.run("queue", "show", id_, "--json").json
    assert whole["ingest"]["session_summary"] == SUMMARY
    assert whole["ingest"]["key_decisions"] == ["Kafka carries all events"]
    assert whole["short_id"] == id_[-8:]
    record = shell.run("why", whole["records"][0][-8:])
    assert record.status == 0


def test_queue_show_redacts_a_secret_that_was_stored_unredacted(
    shell: Shell, memory: Memory
) -> None:
    id_ = send(memory, "the key is KEY", key_decisions=("use KEY",))
    secret = "ghp_" + "Zk3vQ9mX7tR2" * 3
    database = memory.database("project", create=False)
    assert database is not None
    with database.transaction() as c:
        c.execute("UPDATE intake SET body = replace(body, 'KEY', ?)", (secret,))
    for options in ((), ("--json",)):
        shown = shell.run("queue", "show", id_, *options)
        assert shown.status == 0
        assert "the key is" in shown.out
        assert secret not in shown.out


def test_queue_retry_puts_one_or_all_failed_texts_back_in_the_queue(
    shell: Shell, memory: Memory
) -> None:
    first, second = dead(memory), dead(memory, "another text came in")
    done = shell.run("queue", "retry", first[-8:])
    assert (done.status, done.err) == (0, "")
    assert "1 text can be processed now" in done.out
    assert listed(shell) == {first: "waiting", second: "dead"}
    assert shell.run("queue", "retry", "--all", "--json").json == {"retried": 1}
    assert set(listed(shell).values()) == {"waiting"}
    nothing = shell.run("queue", "retry", "--all")
    assert nothing.status == 3
    assert nothing.err.startswith("memory-fabric: No text is dead.")


def test_queue_retry_refuses_an_already_processed_text(shell: Shell, memory: Memory) -> None:
    id_ = send(memory)
    shell.run("queue", "work", "--once")
    done = shell.run("queue", "retry", id_)
    assert done.status == 3
    assert f"{id_[-8:]} is done and is not tried again." in done.err


def test_queue_drop_without_yes_only_lists_texts_to_delete(shell: Shell, memory: Memory) -> None:
    id_ = dead(memory)
    asked = shell.run("queue", "drop", id_)
    assert asked.status == 2
    assert id_[-8:] in asked.out
    assert "Use --yes." in asked.err
    would = shell.run("queue", "drop", "--all", "--json").json
    assert [one["id"] for one in would["would_drop"]] == [id_]
    assert listed(shell) == {id_: "dead"}
    done = shell.run("queue", "drop", "--all", "--yes")
    assert (done.status, done.err) == (0, "")
    assert listed(shell) == {}
    assert shell.run("undo", "--yes").status == 0
    assert listed(shell) == {id_: "waiting"}


def test_queue_drop_asks_for_confirmation_in_a_terminal(shell: Shell, memory: Memory) -> None:
    id_ = dead(memory)
    refused = start(shell, "queue", "drop", id_[-8:])
    refused.expect("Drop 1 text from the queue?")
    refused.sendline("n")
    finish(refused)
    assert listed(shell) == {id_: "dead"}
    agreed = start(shell, "queue", "drop", id_[-8:])
    agreed.expect("Drop 1 text from the queue?")
    agreed.sendline("y")
    finish(agreed)
    assert listed(shell) == {}


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("bend",), 2, "'bend' is not one of 'list', 'show', 'retry', 'drop', 'work'"),
        (("show",), 2, "show needs the id of one text."),
        (("show", "a", "b"), 2, "show needs the id of one text."),
        (("retry",), 2, "retry needs either ids or --all"),
        (("drop", "abcdefgh", "--all"), 2, "drop needs either ids or --all"),
        (("list", "abcdefgh"), 2, "list takes neither an id"),
        (("work", "--all"), 2, "work takes neither an id"),
        (("show", "abcdefgh"), 3, "No text in the queue has the id 'abcdefgh'."),
        (("show", "%%%%%%%%"), 3, "No text in the queue has the id"),
        (("show", "abc\udcff"), 2, "is not an id."),
        (("drop", "abcdefgh", "\udcff"), 2, "is not an id."),
        (("--limit", str(2**63)), 2, "--limit"),
        (("work", "--parent", "9" * 20), 2, "--parent"),
        (("--limit", "0"), 2, "--limit"),
    ],
)
def test_an_invalid_queue_command_is_reported_in_one_line(
    shell: Shell, words: tuple[str, ...], status: int, said: str
) -> None:
    done = shell.run("queue", *words)
    assert (done.status, done.out) == (status, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_status_and_doctor_report_waiting_and_failed_texts(shell: Shell, memory: Memory) -> None:
    assert shell.run("status", "--json").json["intake"]["waiting"] == 0
    assert doctor(shell)["state"] == "ok"
    send(memory)
    told = "1 text of other programs not processed yet: run memory-fabric serve"
    assert told in shell.run("status").out
    assert (doctor(shell)["state"], doctor(shell)["told"]) == ("ok", "waiting: 1 text")
    send(memory, at="2026-01-01T00:00:00.000Z")
    old = doctor(shell)
    assert old["state"] == "warning"
    assert "the oldest since 2026-01-01" in old["told"]
    assert "queue work --once" in old["remedy"]
    shell.run("queue", "work", "--once")
    dead(memory)
    broken = doctor(shell)
    assert broken["state"] == "warning"
    assert "it broke" in broken["told"]
    assert "memory-fabric queue" in broken["remedy"]
    assert (
        "1 text of other programs could not be processed: memory-fabric queue"
        in shell.run("status").out
    )


def doctor(shell: Shell) -> dict[str, Any]:
    """Return what the doctor finds about the ingest queue."""
    found = shell.run("doctor", "--json").json
    (check,) = [one for one in found if one["name"] == "intake"]
    told: dict[str, Any] = check
    return told


def test_a_queue_without_dead_texts_ends_with_its_counts(shell: Shell, memory: Memory) -> None:
    id_ = send(memory)

    lines = shell.run("queue").out.splitlines()
    dropped = shell.run("queue", "drop", id_, "--yes").out

    assert lines[-1] == "1 waiting, 0 working, 0 dead."
    assert dropped.endswith("\nDropped 1 text; memory-fabric undo --last restores the last one.\n")


def test_processed_texts_are_listed_only_on_request(shell: Shell, memory: Memory) -> None:
    ids = send(memory), send(memory, "Kafka carries all events of the shop.")
    shell.run("queue", "work", "--once")

    shown = shell.run("queue", "--done").out

    assert all(id_[-8:] in shown for id_ in ids)
    assert shown.endswith("The queue is empty.\n")
    assert len(listed(shell, "--done", "--limit", "1")) == 1
