"""Stop and PostCompact with a receiver: what is kept for it, and that without one nothing is."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.clients import transcript
from memory_fabric.forwarding import sender
from memory_fabric.hooks.handlers.session_forward import BETWEEN
from memory_fabric.ids import timestamp
from memory_fabric.store import files
from memory_fabric.store.forget import purge
from memory_fabric.store.queues import spool
from simulated_client import SimulatedClient

URL = "http://127.0.0.1:9/v1/memory/ingest"
TOKEN = "ghp_" + "A1b2C3d4E5f6" * 3
SUMMARY = "We moved the orders to PostgreSQL because analytics needs window functions."


@pytest.fixture
def named(client: SimulatedClient) -> Iterator[SimulatedClient]:
    """A client with a receiver; another sender holds the lock, so that items stay in the spool."""
    client.environ["MEMORY_FABRIC_FORWARD_URL"] = "http://127.0.0.1:9"
    client.fire("SessionStart", source="startup")  # tells of the receiver
    with files.Locked(str(client.fabric_home / "forward" / sender.LOCK)):
        yield client


def letters(client: SimulatedClient) -> list[dict[str, Any]]:
    """Return the waiting items as they are in the spool."""
    return [spool.read(item) for item in spool.waiting(str(client.fabric_home))]


def bodies(client: SimulatedClient) -> list[dict[str, Any]]:
    return [letter["body"] for letter in letters(client)]


def stop(client: SimulatedClient, said: str = "", prompt: str = "p1", **fields: Any) -> str:
    """The notice of a turn's end."""
    reply = client.fire("Stop", last_assistant_message=said, prompt_id=prompt, **fields)
    return str(reply.get("systemMessage", ""))


def messages(client: SimulatedClient) -> list[str]:
    """The messages of the one item that waits."""
    [body] = bodies(client)
    return str(body["session_summary"]).split(BETWEEN)


class TestWhatIsSent:
    def test_the_last_ten_messages_are_sent_as_one_text_in_the_format_of_the_endpoint(
        self, named: SimulatedClient
    ) -> None:
        for number in range(14):
            named.say("user", f"Question {number}")
            named.say("assistant", f"Answer {number}")

        stop(named, "Answer 13")

        [letter] = letters(named)
        key = letter["body"].pop("idempotency_key")
        created_at = letter["body"].pop("created_at")
        assert letter == {
            "to": URL,
            "place": named.memory().project.id,  # type: ignore[union-attr]
            "body": {
                "session_summary": "\n\n---\n\n".join(f"Answer {n}" for n in range(4, 14)),
                "key_decisions": [],
                "domain": "session",
                "source_model": "claude-code-hook",
                "confidence": 0.8,
                "project": "shop",
                "session_id": "session-1",
            },
        }
        assert len(key) == 36 and created_at.endswith("Z")

    @pytest.mark.parametrize("event", ["Stop", "PostCompact"])
    @pytest.mark.parametrize(
        ("config", "variable", "fields"),
        [
            (
                '[domains.legal]\nagents = ["advisor"]\nisolate = true\n',
                "",
                {"agent_type": "advisor"},
            ),
            ('[domains.legal]\npaths = ["."]\nisolate = true\n', "", {}),
            ("[domains.legal]\nisolate = true\n", "legal", {}),
        ],
        ids=["by its agent", "by its folder", "by the variable"],
    )
    def test_messages_of_an_isolated_session_are_sent_with_the_sessions_domain(
        self, named: SimulatedClient, event: str, config: str, variable: str, fields: dict[str, str]
    ) -> None:
        (named.fabric_home / "config.toml").write_text(config)
        named.environ["MEMORY_FABRIC_DOMAIN"] = variable

        said = {"last_assistant_message": "Done.", "compact_summary": SUMMARY}
        named.fire(event, **said, **fields)

        assert [body["domain"] for body in bodies(named)] == ["legal"]

    def test_forwarded_messages_name_a_folders_domain_only_if_it_is_isolated(
        self, named: SimulatedClient
    ) -> None:
        (named.fabric_home / "config.toml").write_text('[domains.legal]\npaths = ["."]\n')

        stop(named, "Done.")

        assert [body["domain"] for body in bodies(named)] == ["session"]

    def test_messages_of_a_time_with_capture_off_are_not_sent_later(
        self, named: SimulatedClient
    ) -> None:
        named.say("assistant", "Before.", timestamp=timestamp())
        named.command("off", "--write")
        named.say("assistant", "Between us.", timestamp=timestamp())
        named.command("on", "--write")

        stop(named, "After.")

        assert messages(named) == ["Before.", "After."]

    def test_words_that_were_purged_are_not_sent_with_the_next_messages(
        self, named: SimulatedClient
    ) -> None:
        named.say("assistant", "The walrus-gateway is up.")
        stop(named, "The walrus-gateway is up.")
        assert named.command("forget", "--purge", "walrus-gateway", "--yes").returncode == 0
        named.say("assistant", "Port 8080.")

        stop(named, "Port 8080.", prompt="p2")

        assert messages(named) == ["The [erased] is up.", "Port 8080."]

    def test_all_messages_are_sent_if_fewer_than_ten_exist(self, named: SimulatedClient) -> None:
        named.say("assistant", "First.")
        named.say("assistant", "Second.")
        stop(named, "Second.")

        assert messages(named) == ["First.", "Second."]

    def test_a_last_message_missing_from_the_transcript_is_still_sent(
        self, named: SimulatedClient
    ) -> None:
        for number in range(10):
            named.say("assistant", f"Answer {number}")
        stop(named, "The newest answer.")

        assert messages(named) == [*(f"Answer {n}" for n in range(1, 10)), "The newest answer."]

    def test_the_last_message_in_the_event_is_sent_if_there_is_no_transcript(
        self, named: SimulatedClient
    ) -> None:
        stop(named, "Only this.")

        assert messages(named) == ["Only this."]

    def test_tool_calls_and_subagent_messages_and_client_errors_are_not_forwarded(
        self, named: SimulatedClient
    ) -> None:
        named.say("assistant", "Kept.")
        tool = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls secret"}}
        named.say("assistant", tool)
        named.say("user", {"type": "tool_result", "tool_use_id": "t1", "content": "output"})
        side: Any = {"isSidechain": True}
        named.say("assistant", "A subagent speaks.", **side)
        summary: Any = {"isCompactSummary": True}
        named.say("user", "The session so far.", **summary)
        failed: Any = {"isApiErrorMessage": True}
        named.say("assistant", "API Error: 500", **failed)
        named.say("assistant", "Kept, too.")
        stop(named, "Kept, too.")

        assert messages(named) == ["Kept.", "Kept, too."]

    def test_text_blocks_of_one_message_are_joined(self, named: SimulatedClient) -> None:
        for text in ("First part.", "Second part."):
            entry: Any = {"message": {"id": "m1", "content": [{"type": "text", "text": text}]}}
            named.say("assistant", **entry)
        stop(named, "Second part.")

        assert messages(named) == ["First part.\nSecond part."]

    def test_messages_before_a_compaction_are_also_forwarded(self, named: SimulatedClient) -> None:
        named.say("assistant", "Before.")
        with named.transcript.open("a") as file:
            file.write(json.dumps({"type": "system", "subtype": "compact_boundary"}) + "\n")
        named.say("assistant", "After.")
        stop(named, "After.")

        assert messages(named) == ["Before.", "After."]

    def test_a_summary_is_sent_without_its_analysis_section(self, named: SimulatedClient) -> None:
        summary = f"<analysis>thinking aloud</analysis>\n<summary>\n{SUMMARY}\n</summary>"
        named.fire("PostCompact", trigger="manual", compact_summary=summary)

        [body] = bodies(named)
        assert body["session_summary"] == SUMMARY
        assert body["domain"] == "session"

    def test_the_compaction_summary_of_a_subagent_is_not_forwarded(
        self, named: SimulatedClient
    ) -> None:
        named.fire("PostCompact", compact_summary=SUMMARY, agent_id="a1", agent_type="Explore")

        assert bodies(named) == []

    @pytest.mark.parametrize("event", ["Stop", "PostCompact"])
    def test_secrets_private_text_and_recalled_memories_are_removed_before_forwarding(
        self, named: SimulatedClient, event: str
    ) -> None:
        said = (
            f"The token is {TOKEN}. <private>Ann is ill.</private> Done. "
            "<memory-fabric>- [decision] recalled words</memory-fabric>"
            "<system-reminder>reminder words</system-reminder>"
        )
        named.say("assistant", said)
        if event == "Stop":
            stop(named, said)
        else:
            named.fire(event, compact_summary=said)

        [path] = [Path(item.path) for item in spool.waiting(str(named.fabric_home))]
        kept = path.read_text("utf-8")
        assert "Done." in kept
        for gone in (TOKEN, "Ann is ill", "recalled words", "reminder words"):
            assert gone not in kept

    def test_without_any_message_nothing_is_sent(self, named: SimulatedClient) -> None:
        stop(named, "")
        stop(named, "<memory-fabric>an echo</memory-fabric>", prompt="p2")
        named.fire("PostCompact", compact_summary="<analysis>only this</analysis>")

        assert bodies(named) == []

    def test_a_long_message_is_shortened_and_oldest_messages_beyond_a_megabyte_are_omitted(
        self, named: SimulatedClient
    ) -> None:
        named.say("assistant", "word " * 20_000)
        for _ in range(10):
            named.say("assistant", "\u2028\x0b" * 30_000)  # six bytes each in JSON
        stop(named, "The end.")

        [path] = [Path(item.path) for item in spool.waiting(str(named.fabric_home))]
        assert path.stat().st_size < 1_100_000
        [body] = bodies(named)
        assert body["session_summary"].endswith("The end.")


class TestOnce:
    def test_a_repeated_stop_event_queues_messages_only_once(self, named: SimulatedClient) -> None:
        named.say("assistant", "Done.")
        stop(named, "Done.")
        stop(named, "Done.")

        assert len(bodies(named)) == 1

    def test_two_turns_with_equal_last_messages_are_both_sent(self, named: SimulatedClient) -> None:
        for number in range(2):
            named.say("assistant", "Done.")
            stop(named, "Done.", prompt=f"p{number}")

        assert len({body["idempotency_key"] for body in bodies(named)}) == 2

    def test_two_equal_turns_are_each_forwarded_once_if_the_client_gives_no_prompt_ids(
        self, named: SimulatedClient
    ) -> None:
        for _ in range(2):
            named.say("assistant", "Done.")
            stop(named, "Done.", prompt="")
            stop(named, "Done.", prompt="")

        assert len(bodies(named)) == 2

    def test_equal_messages_of_two_sessions_are_both_sent(self, named: SimulatedClient) -> None:
        for session in ("s1", "s2"):
            named.fire("Stop", session, last_assistant_message="Done.", prompt_id="p1")

        assert len(bodies(named)) == 2


class TestTold:
    def test_a_session_start_announces_each_new_address_for_forwarding_once(
        self, client: SimulatedClient
    ) -> None:
        told = []
        for url in ("http://127.0.0.1:9", "http://127.0.0.1:9", "http://127.0.0.1:8"):
            client.environ["MEMORY_FABRIC_FORWARD_URL"] = url
            reply = client.fire("SessionStart", source="startup")
            told.append("forwarded to " + url in str(reply.get("systemMessage")))

        assert told == [True, False, True]

    def test_forwarding_is_announced_after_the_first_turn_if_not_announced_before(
        self, client: SimulatedClient
    ) -> None:
        client.environ["MEMORY_FABRIC_FORWARD_URL"] = "http://127.0.0.1:9"

        assert f"forwarded to {URL}" in stop(client, "Done.")
        assert stop(client, "Done again.", prompt="p2") == ""

    def test_the_welcome_message_does_not_promise_local_storage_while_forwarding_is_on(
        self, client: SimulatedClient
    ) -> None:
        client.environ["MEMORY_FABRIC_FORWARD_URL"] = "http://127.0.0.1:9"
        reply = client.fire("SessionStart", source="startup")

        assert "memory-fabric is on" in reply["systemMessage"]
        assert "this machine only" not in reply["systemMessage"]


class TestOff:
    def test_without_a_receiver_no_spool_is_created(self, client: SimulatedClient) -> None:
        client.say("assistant", "Done.")
        stop(client, "Done.")
        client.fire("PostCompact", compact_summary=SUMMARY)

        assert not (client.fabric_home / "forward").exists()

    @pytest.mark.parametrize(
        "variables",
        [
            {"CI": "true"},
            {"MEMORY_FABRIC": "off"},
            {"MEMORY_FABRIC_FORWARD_URL": "ftp://host"},
            {"MEMORY_FABRIC_FORWARD_URL": "http://"},
        ],
        ids=str,
    )
    def test_nothing_is_queued_while_memory_is_off(
        self, named: SimulatedClient, variables: dict[str, str]
    ) -> None:
        named.environ |= variables
        stop(named, "Done.")
        named.fire("PostCompact", compact_summary=SUMMARY)

        assert bodies(named) == []

    @pytest.mark.parametrize(
        "file", ["write = false\n", '[capture]\nunattended = "off"\n', "write = nonsense\n"]
    )
    def test_switches_in_config_toml_also_turn_forwarding_off(
        self, named: SimulatedClient, file: str
    ) -> None:
        named.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
        (named.fabric_home / "config.toml").write_text(file)
        stop(named, "Done.")
        named.fire("PostCompact", compact_summary=SUMMARY)

        assert bodies(named) == []

    def test_a_switched_off_project_forwards_nothing(self, named: SimulatedClient) -> None:
        assert named.command("off", "--here", "--write").returncode == 0
        stop(named, "Done.")

        assert bodies(named) == []

    def test_forwarding_continues_while_only_recall_is_off(self, named: SimulatedClient) -> None:
        (named.fabric_home / "config.toml").write_text("read = false\n")
        stop(named, "Done.")

        assert len(bodies(named)) == 1

    def test_an_unattended_session_is_forwarded(self, named: SimulatedClient) -> None:
        named.environ["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
        stop(named, "Done.")

        assert len(bodies(named)) == 1


class TestNoRoom:
    def test_a_full_spool_is_reported_once_and_dropped_items_are_counted(
        self, named: SimulatedClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(spool, "MAX_ITEMS", 1)
        told = [stop(named, f"Answer {n}", prompt=f"p{n}") for n in range(4)]

        assert told[0] == told[2] == told[3] == ""
        assert "no space for more" in told[1] and "memory-fabric:memory sync" in told[1]
        assert spool.backlog(str(named.fabric_home), URL).dropped == 3
        assert named.log.count("forward:") == 3

    def test_a_full_spool_at_a_compaction_is_reported_at_the_end_of_the_next_turn(
        self, named: SimulatedClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(spool, "MAX_ITEMS", 0)
        assert named.fire("PostCompact", compact_summary=SUMMARY) == {}

        assert "no space for more" in stop(named, "Done.")

    def test_an_unwritable_spool_does_not_stop_the_hook_and_is_logged(
        self, client: SimulatedClient
    ) -> None:
        client.environ["MEMORY_FABRIC_FORWARD_URL"] = URL
        client.fabric_home.mkdir(parents=True)
        (client.fabric_home / "forward").write_text("in the way")
        client.say("assistant", "Noted decision: PostgreSQL holds the analytics.")
        notice = stop(client, "Done.")

        assert "remembered decision" in notice
        assert "not forwarded" in client.log


class TestCost:
    def test_only_the_end_of_an_8_mb_transcript_is_read(
        self, named: SimulatedClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        padding = json.dumps({"type": "api-request-blob", "pad": "x" * 4000}) + "\n"
        with named.transcript.open("w", encoding="utf-8") as file:
            file.write(padding * 2000)
        for number in range(12):
            named.say("assistant", f"Answer {number}")
        assert named.transcript.stat().st_size > 8_000_000

        read = read_by(monkeypatch, lambda: transcript.last_said(str(named.transcript), 10))

        assert [text for _, text in read.said] == [f"Answer {n}" for n in range(2, 12)]
        assert read.bytes <= transcript.TAIL_BYTES and read.calls == 1

    def test_only_the_last_megabyte_of_a_transcript_is_searched_for_messages(
        self, named: SimulatedClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        named.say("assistant", "Long ago.")
        with named.transcript.open("a", encoding="utf-8") as file:
            file.write("x" * 3_000_000)

        path = str(named.transcript)
        read = read_by(monkeypatch, lambda: transcript.last_said(path, 10, 1 << 20))

        assert read.said == [] and read.bytes == 1 << 20

    def test_forwarding_costs_only_two_extra_disk_flushes_at_the_end_of_a_turn(
        self, client: SimulatedClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        counts = []
        for url in ("", URL):
            client.environ["MEMORY_FABRIC_FORWARD_URL"] = url
            with files.Locked(str(client.fabric_home / "forward" / sender.LOCK)):
                stop(client, "Warm.", prompt=f"warm{url}")
                turn = partial(stop, client, "Done.", f"p{url}")
                counts.append(fsyncs(monkeypatch, turn))

        assert counts[1] - counts[0] == 2


class TestPurging:
    def test_purging_a_record_erases_it_from_the_spool(self, named: SimulatedClient) -> None:
        fact = "Use PostgreSQL for the ledger of Ann Smith"
        record = json.loads(named.command("remember", fact, "--json").stdout)["id"]
        stop(named, f"Noted: {fact}.", prompt="p1")
        stop(named, f"As I said: {fact}.", prompt="p2")
        stop(named, "Something else.", prompt="p3")
        home = str(named.fabric_home)
        spool.reject(home, spool.waiting(home)[0], {"status": 422, "text": fact})

        done = named.command("forget", "--purge", "--yes", record)

        assert done.returncode == 0, done.stderr
        held = [
            p
            for p in named.fabric_home.rglob("*")
            if p.is_file() and fact.encode() in p.read_bytes()
        ]
        assert held == []
        assert [body["session_summary"] for body in bodies(named)][-1].endswith("Something else.")
        assert purge.pending(home) == ""


class Read:
    """The result of a reading, with the number of its calls and bytes."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []
        self.calls = self.bytes = 0


def read_by(monkeypatch: pytest.MonkeyPatch, reading: Any) -> Read:
    done = Read()
    opened = files.open_regular

    class Counted:
        def __init__(self, path: str) -> None:
            self.file = opened(path)

        def __enter__(self) -> Counted:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def fileno(self) -> int:
            return self.file.fileno()

        def seek(self, at: int) -> int:
            return self.file.seek(at)

        def read(self, size: int) -> bytes:
            data = self.file.read(size)
            done.calls, done.bytes = done.calls + 1, done.bytes + len(data)
            return data

    with monkeypatch.context() as patch:
        patch.setattr(files, "open_regular", Counted)
        done.said = reading()
    return done


def fsyncs(monkeypatch: pytest.MonkeyPatch, work: Any) -> int:
    counted: list[int] = []
    fsync = os.fsync

    def count(handle: int) -> None:
        counted.append(handle)
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", count)
        work()
    return len(counted)
