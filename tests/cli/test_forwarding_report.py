"""status, doctor and sync on what is forwarded: what waits, what went wrong, what helps."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from cli.shell import Shell
from memory_fabric.forwarding.sender import LOCK
from memory_fabric.ingest_protocol import ingest_address
from memory_fabric.store import files
from memory_fabric.store.queues import spool
from receiver import Receiver, Says

NOWHERE = "http://127.0.0.1:9/v1/memory/ingest"
KEY = "-".join(("a", "plain", "key"))
REPORTS = (("status",), ("status", "--json"), ("doctor",), ("doctor", "--json"))


def put(shell: Shell, *keys: str, to: str = NOWHERE) -> None:
    for key in keys:
        body = {"session_summary": f"text of {key}", "idempotency_key": key}
        spool.add(str(shell.memory), to, "", body, time.time())


def left(shell: Shell) -> list[str]:
    return [item.key for item in spool.waiting(str(shell.memory))]


def failed(shell: Shell, told: str = "Nothing listens at 127.0.0.1:9.") -> None:
    at = "2099-01-01T00:00:00.000Z"
    spool.update_state(
        str(shell.memory), last_error=told, remedy="Start the receiver.", error_at=at
    )


def name_receiver(shell: Shell, url: str, key: str = "") -> None:
    shell.environ |= {"MEMORY_FABRIC_FORWARD_URL": url, "MEMORY_FABRIC_FORWARD_KEY": key}


class TestSync:
    def test_sync_sends_waiting_items_before_their_back_off_ends(self, shell: Shell) -> None:
        with Receiver() as receiver:
            name_receiver(shell, receiver.origin, KEY)
            put(shell, "a", "b", to=receiver.url)
            spool.update_state(str(shell.memory), to=receiver.url, next_at=time.time() + 3000)
            done = shell.run("sync")

        assert done.status == 0, done.err
        assert "2 forwarded, 0 still wait, 0 rejected." in done.out
        assert sorted(r.key for r in receiver.requests) == ["a", "b"] and left(shell) == []
        assert receiver.requests[0].headers["authorization"] == f"Bearer {KEY}"

    def test_sync_reports_why_forwarding_failed_and_a_remedy(self, shell: Shell) -> None:
        with Receiver() as receiver:
            name_receiver(shell, receiver.origin)
            put(shell, "a", to=receiver.url)
        done = shell.run("sync")

        assert done.status == 1
        assert "0 forwarded, 1 still wait" in done.out
        assert "Nothing listens at 127.0.0.1" in done.err and "Start the receiver" in done.err

    def test_sync_fails_if_the_receiver_rejects_an_item(self, shell: Shell) -> None:
        with Receiver(Says(422, body=b'{"error": {"field": "domain"}}')) as receiver:
            name_receiver(shell, receiver.origin)
            put(shell, "a", to=receiver.url)
            done = shell.run("sync", "--json")
            again = shell.run("sync", "--json")

        assert done.status == 1 and again.status == 0
        assert done.json["forwarded"] == {"sent": 0, "rejected": 1, "waiting": 0}
        assert again.json["forwarded"] == {"sent": 0, "rejected": 0, "waiting": 0}
        [aside] = spool.rejected(str(shell.memory))
        assert '"field": "domain"' in spool.read(aside)["answer"]["text"]

    def test_sync_reports_that_another_process_is_sending(self, shell: Shell) -> None:
        name_receiver(shell, NOWHERE)
        put(shell, "a")
        with files.Locked(str(shell.memory / "forward" / LOCK)):
            done = shell.run("sync")

        assert done.status == 0 and "another process is sending or will retry" in done.out

    @pytest.mark.parametrize("variables", [{"CI": "true"}, {"MEMORY_FABRIC": "off"}], ids=str)
    def test_sync_reports_that_nothing_is_sent_while_memory_is_off(
        self, shell: Shell, variables: dict[str, str]
    ) -> None:
        with Receiver() as receiver:
            name_receiver(shell, receiver.origin)
            put(shell, "a", to=receiver.url)
            shell.environ |= variables
            done = shell.run("sync")

        assert receiver.requests == [] and left(shell) == ["a"]
        assert done.status == 1 and "switched off" in done.err

    def test_sync_without_a_receiver_does_not_mention_forwarding(self, shell: Shell) -> None:
        done = shell.run("sync")

        assert done.status == 0 and "forward" not in done.out
        assert shell.run("sync", "--json").json["forwarded"] is None
        assert not (shell.memory / "forward").exists()


class TestStatus:
    def test_status_shows_the_receiver_and_when_the_last_item_arrived(self, shell: Shell) -> None:
        name_receiver(shell, "https://memory.example")
        before = shell.run("status").out
        put(shell, "a", to=ingest_address("https://memory.example")[0])
        spool.mark_sent(str(shell.memory), spool.waiting(str(shell.memory))[0], time.time() - 300)
        after = shell.run("status").out

        told = "sessions are forwarded to https://memory.example/v1/memory/ingest"
        assert f"{told}; nothing was sent yet" in before
        assert f"{told}; the last arrived 5 min ago" in after

    def test_status_reports_why_items_wait_and_how_to_send_them(self, shell: Shell) -> None:
        name_receiver(shell, NOWHERE)
        put(shell, "a", "b")
        failed(shell)

        told = shell.run("status").out

        assert "2 items to forward, the oldest" in told and "memory-fabric sync sends them" in told
        assert "Nothing listens at 127.0.0.1:9. Start the receiver." in told

    def test_status_shows_the_folder_of_rejected_items(self, shell: Shell) -> None:
        name_receiver(shell, NOWHERE)
        put(shell, "a")
        answer = {"status": 422, "told": "The receiver finds a field wrong (422)."}
        spool.reject(str(shell.memory), spool.waiting(str(shell.memory))[0], answer)

        told = shell.run("status").out

        assert "rejected 1 item, the last: The receiver finds a field wrong (422)." in told
        assert str(shell.memory / "forward" / "rejected") in told

    def test_status_reports_items_for_a_receiver_that_is_not_configured(self, shell: Shell) -> None:
        put(shell, "a", to="https://old.example/v1/memory/ingest")

        told = shell.run("status").out

        assert "https://old.example/v1/memory/ingest, which is not the configured receiver" in told
        assert "No receiver is configured" in told

    def test_no_report_prints_a_query_of_an_address_which_may_hold_a_token(
        self, shell: Shell
    ) -> None:
        token = "".join(("x9", "secret"))
        name_receiver(shell, f"http://memory.example/in?token={token}")
        put(shell, "a", to=f"https://old.example/in?token={token}")
        put(shell, "b", to=f"https://old.example/in?other={token}")

        told = [shell.run(*words).out for words in REPORTS]

        assert all(token not in text for text in told)
        assert "forwarded to http://memory.example/in?HIDDEN;" in told[0]
        assert told[0].count("https://old.example/in?HIDDEN, which is not") == 1
        assert "to http://memory.example/in?HIDDEN, not encrypted" in told[2]
        found = json.loads(told[1])["forwarding"]
        assert found["to"] == "http://memory.example/in?HIDDEN"
        assert found["elsewhere"] == ["https://old.example/in?HIDDEN"]

    def test_an_invalid_receiver_url_is_reported_with_its_environment_variable(
        self, shell: Shell
    ) -> None:
        name_receiver(shell, "memory.example")

        done = shell.run("status")

        assert "MEMORY_FABRIC_FORWARD_URL must begin with http:// or https://" in done.err
        assert "forwarded to" not in done.out

    def test_status_without_a_receiver_does_not_mention_forwarding(self, shell: Shell) -> None:
        assert "forward" not in shell.run("status").out
        assert shell.run("status", "--json").json["forwarding"]["to"] == ""

    def test_status_json_includes_the_forwarding_state(self, shell: Shell) -> None:
        name_receiver(shell, NOWHERE)
        put(shell, "a")
        failed(shell)

        found = shell.run("status", "--json").json["forwarding"]

        assert (found["to"], found["waiting"], found["rejected"]) == (NOWHERE, 1, 0)
        assert found["last_error"].startswith("Nothing listens")


class TestDoctor:
    def look(self, shell: Shell) -> dict[str, dict[str, Any]]:
        found = json.loads(shell.run("doctor", "--json").out)
        return {check["name"]: check for check in found}

    def test_doctor_reports_that_forwarding_is_off_without_a_receiver(self, shell: Shell) -> None:
        checks = self.look(shell)

        assert checks["forwarding"]["told"] == "off: nothing leaves this machine"
        assert checks["forwarded"]["state"] == "ok"

    @pytest.mark.parametrize(
        ("url", "key", "words"),
        [
            ("http://memory.example", KEY, "the key and what is said"),
            ("http://memory.example:8002", "", "can read what is said"),
            ("http://128.0.0.1", KEY, "the key"),
        ],
    )
    def test_doctor_warns_about_plain_http_to_another_machine(
        self, shell: Shell, url: str, key: str, words: str
    ) -> None:
        name_receiver(shell, url, key)

        check = self.look(shell)["forwarding"]

        assert check["state"] == "warning" and words in check["told"]
        assert check["remedy"] == "Use an https address." and KEY not in json.dumps(check)

    @pytest.mark.parametrize(
        "url",
        ["https://memory.example", "http://localhost:8002", "http://127.1.2.3", "http://[::1]:1"],
    )
    def test_doctor_accepts_https_and_local_receivers(self, shell: Shell, url: str) -> None:
        name_receiver(shell, url, KEY)

        assert self.look(shell)["forwarding"]["state"] == "ok"

    def test_doctor_warns_about_an_unreachable_receiver(self, shell: Shell) -> None:
        name_receiver(shell, NOWHERE)
        put(shell, "a")
        well = self.look(shell)["forwarded"]
        failed(shell)
        ill = self.look(shell)["forwarded"]

        assert well["state"] == "ok" and "1 item to forward" in well["told"]
        assert ill["state"] == "warning" and "Nothing listens" in ill["told"]
        assert "Start the receiver." in ill["remedy"]

    def test_doctor_warns_if_a_full_forwarding_spool_dropped_items(self, shell: Shell) -> None:
        name_receiver(shell, NOWHERE)
        put(shell, "a")
        spool.count_dropped(str(shell.memory))

        check = self.look(shell)["forwarded"]

        assert check["state"] == "warning" and "1 time the spool was full" in check["told"]


def test_uninstall_with_purge_deletes_items_waiting_to_be_forwarded(shell: Shell) -> None:
    shell.remember("Use tabs in the shop because the linter wants it")
    name_receiver(shell, NOWHERE)
    put(shell, "a")

    done = shell.run("uninstall", "--purge", "--yes")

    assert done.status == 0, done.err
    assert not Path(shell.memory).exists()
