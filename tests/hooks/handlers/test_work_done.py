"""Fixes from the work of a session, and what is told of it at later starts."""

from __future__ import annotations

import json
import time
from typing import Any

from hook_work import ERROR, PYTEST, answered, changed, now, ran, stop
from memory_fabric import ids
from memory_fabric.models import Provenance, Record
from simulated_client import SimulatedClient

TASK = "Build the analytics importer for CSV uploads, please"
OUTCOME = "The report reads the new view of paid orders."
# As the client makes them: it must not look like a secret.
REAL_ID = "toolu_01A09q90qw90lq917835lq9x"


def passes(client: SimulatedClient) -> None:
    """Let the command pass, and the assistant say why it had failed."""
    ran(client, PYTEST, "3 passed")
    said = "The root cause was that the cart had no total."
    client.say("assistant", said, timestamp=now())


def worked(client: SimulatedClient, session: str, task: str = TASK) -> None:
    """A whole session that changes a file."""
    client.transcript = client.transcript.with_name(f"{session}.jsonl")
    call: dict[str, Any] = {"type": "tool_use", "id": f"{session}-1", "name": "Edit"}
    call["input"] = {"file_path": str(client.project / "orders.py")}
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "ok"}
    for role, said in (("user", task), ("assistant", call), ("user", result)):
        client.say(role, said, session=session, timestamp=now())
    client.say("assistant", OUTCOME, session=session, timestamp=now())
    stop(client, session)
    client.fire("SessionEnd", session, reason="other")


def of_type(client: SimulatedClient, kind: str) -> list[Record]:
    return [record for record in client.records() if record.type == kind]


def fix(client: SimulatedClient) -> Record:
    (record,) = of_type(client, "solution")
    assert of_type(client, "problem") == []
    return record


class TestIncidents:
    def test_a_fix_is_stored_with_its_cause_and_evidence(self, client: SimulatedClient) -> None:
        commit = "0123456789abcdef0123456789abcdef01234567"
        (client.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (client.project / ".git" / "packed-refs").write_text(f"# x\n{commit} refs/heads/main\n")
        client.say("user", "The checkout page crashes. Please have a look.", timestamp=now())
        ran(client, PYTEST, ERROR, failed=True)
        client.say("assistant", "It fails because the cart has no total.", timestamp=now())
        changed(client)
        ran(client, f"cd {client.project} && {PYTEST} -q 2>&1 | tail -5", "3 passed in 0.1s")
        stop(client)
        record = fix(client)

        assert record.what == (
            "It fails because the cart has no total "
            f"(`{PYTEST}` failed: KeyError: 'total'; fixed in cart.py)"
        )
        assert record.evidence == {
            "command": PYTEST,
            "error": "KeyError: 'total'",
            "files": ["cart.py"],
            "symptom": "The checkout page crashes.",
            "commit": commit,
        }

    def test_a_fix_is_found_by_the_symptom_the_user_stated(self, client: SimulatedClient) -> None:
        self.test_a_fix_is_stored_with_its_cause_and_evidence(client)

        assert "cart has no total" in client.command("recall", "checkout page crashes").stdout

    def test_a_fix_that_is_noted_and_observed_is_stored_as_one_record_with_evidence(
        self, client: SimulatedClient
    ) -> None:
        ran(client, PYTEST, ERROR, failed=True)
        changed(client)
        ran(client, PYTEST, "3 passed")
        said = "Noted fix: An empty cart has no total; Cart.total() returns 0 for it."
        answer = f"All tests pass.\n\n{said}"
        client.say("assistant", answer, timestamp=now())
        stop(client, said=answer)
        record = fix(client)

        assert record.what == said.removeprefix("Noted fix: ").removesuffix(".")
        assert record.evidence["error"] == "KeyError: 'total'"
        assert record.evidence["files"] == ["cart.py"]

    def test_a_noted_fix_gets_the_evidence_of_the_error_it_describes(
        self, client: SimulatedClient
    ) -> None:
        for name, error in (("cart", "'total'"), ("order", "'street'")):
            ran(client, f"pytest tests/test_{name}.py", f"E   KeyError: {error}", failed=True)
            changed(client, f"{name}.py")
            ran(client, f"pytest tests/test_{name}.py", "3 passed")
        said = "Noted fix: The order has no street when a parcel is collected."
        client.say("assistant", said, timestamp=now())
        stop(client)
        found = {
            record.what[:9]: record.evidence["error"] for record in of_type(client, "solution")
        }

        assert found == {"The order": "KeyError: 'street'"}

    def test_a_noted_fix_gets_the_error_reported_by_the_user(self, client: SimulatedClient) -> None:
        report = "The upload hangs again:\nError: worker quota exceeded for the upload queue"
        client.say("user", report, timestamp=now())
        changed(client, "queue.toml")
        said = "Noted fix: The upload queue needs two workers in queue.toml."
        client.say("assistant", said, timestamp=now())
        stop(client)
        record = fix(client)

        assert record.evidence["symptom"] == "The upload hangs again:"
        assert record.evidence["error"] == "Error: worker quota exceeded for the upload queue"
        assert record.evidence["files"] == ["queue.toml"]
        assert record.what in client.command("recall", "worker quota exceeded").stdout

    def test_a_failure_can_be_solved_in_a_later_turn(self, client: SimulatedClient) -> None:
        ran(client, PYTEST, ERROR, failed=True)
        stop(client)
        changed(client)
        client.fire("PreCompact", trigger="auto")
        assert client.records() == []
        passes(client)
        stop(client)

        assert fix(client).evidence["files"] == ["cart.py"]

    def test_the_result_of_a_command_is_recognised_even_if_written_after_a_compaction(
        self, client: SimulatedClient
    ) -> None:
        call = {"type": "tool_use", "id": REAL_ID, "name": "Bash", "input": {"command": PYTEST}}
        client.say("assistant", call, timestamp=now())
        client.fire("PreCompact", trigger="auto")
        answered(client, REAL_ID, ERROR, failed=True)
        changed(client)
        passes(client)
        stop(client)

        assert len(of_type(client, "solution")) == 1

    def test_a_cause_stated_later_is_added_to_the_stored_fix(self, client: SimulatedClient) -> None:
        client.say("user", "Make the cart work, please.", timestamp=now())
        ran(client, PYTEST, ERROR, failed=True)
        changed(client)
        ran(client, PYTEST, "3 passed")
        stop(client)
        client.say("assistant", "The root cause was that the cart had no total.", timestamp=now())
        client.say("user", "Thanks.", timestamp=now())
        client.say("assistant", "The root cause was something else.", timestamp=now())
        stop(client)

        [fix] = client.records("type = 'solution'")
        assert fix.what.startswith("The root cause was that the cart had no total (")

    def test_a_failed_change_does_not_count_as_a_change(self, client: SimulatedClient) -> None:
        ran(client, PYTEST, ERROR, failed=True)
        changed(client, failed=True)
        ran(client, PYTEST, "3 passed")
        stop(client)

        assert client.records() == []

    def test_the_same_fix_in_another_session_is_one_record(self, client: SimulatedClient) -> None:
        for session in ("session-1", "session-2"):
            client.transcript = client.transcript.with_name(f"{session}.jsonl")
            ran(client, PYTEST, ERROR, failed=True)
            changed(client)
            passes(client)
            said = client.transcript.read_text().replace('"session-1"', f'"{session}"')
            client.transcript.write_text(said)
            stop(client, session)

        assert fix(client).session == "session-1"

    def test_a_fix_read_again_is_not_stored_twice(self, client: SimulatedClient) -> None:
        ran(client, PYTEST, ERROR, failed=True)
        changed(client)
        passes(client)
        stop(client)
        before = client.records("1")
        memory = client.memory()
        with memory.session_database().transaction() as c:
            c.execute("DELETE FROM sessions")
        memory.close()
        stop(client)

        assert client.records("1") == before

    def test_undo_removes_a_fix(self, client: SimulatedClient) -> None:
        ran(client, PYTEST, ERROR, failed=True)
        changed(client)
        passes(client)
        stop(client)
        assert fix(client)
        assert client.command("undo", "--last", "--yes").returncode == 0

        assert client.records() == []

    def test_a_secret_in_command_or_error_is_not_stored(self, client: SimulatedClient) -> None:
        secret = "sk-" + "aB3dE5fG7hI9jK1lM2nO4pQ6"
        ran(client, f"deploy --token {secret}", f"Error: bad {secret}", failed=True)
        changed(client)
        stop(client)
        ran(client, f"deploy --token {secret}", "deployed")
        stop(client)

        for path in {*client.home.rglob("*")} - {client.transcript}:
            assert not path.is_file() or secret.encode() not in path.read_bytes()


class TestStart:
    def start(self, client: SimulatedClient, session: str, source: str = "startup") -> str:
        context = client.context("SessionStart", session, source=source, transcript_path="")
        assert len(context) <= 3000
        return context

    def test_ordinary_work_in_a_session_does_not_create_a_record(
        self, client: SimulatedClient
    ) -> None:
        worked(client, "work-0")

        assert client.records("1") == [] and self.start(client, "start-0") == ""

    def test_a_session_record_of_an_earlier_release_is_found_only_by_the_recall_command(
        self, client: SimulatedClient
    ) -> None:
        memory = client.memory()
        old = Record("session", f"Asked: {TASK}. Outcome: done", evidence={"asked": TASK})
        memory.remember(old, Provenance("assistant", session="work-0"))
        memory.close()

        assert TASK not in self.start(client, "start-0")
        assert TASK not in client.prompt(f"What did we do last time? {TASK}", "start-0")
        assert TASK in client.command("recall", "analytics importer").stdout

    def test_an_open_question_of_the_assistant_is_hidden_after_three_sessions(
        self, client: SimulatedClient
    ) -> None:
        client.note("open", "The host of the archive is not chosen", quotation="", session="s-0")
        client.note("open", "The owner of the mail domain is not known", session="s-0")
        for n in range(3):
            assert "host of the archive" in self.start(client, f"start-{n}")
            worked(client, f"work-{n}")

        told = self.start(client, "start-3")
        assert "host of the archive" not in told
        assert "owner of the mail domain" in told

    def test_a_session_start_lists_facts_of_the_user_before_recent_fixes(
        self, client: SimulatedClient
    ) -> None:
        memory = client.memory()
        for number, name in enumerate(("lint", "build", "upload", "login")):
            fix = Record("solution", f"The {name} fails without a lock file; commit it")
            memory.remember(fix, Provenance("assistant"), at=days_ago(4 - number))
        memory.remember(Record("solution", "The mail needs TLS"), Provenance("assistant"),
                        at=days_ago(8))  # fmt: skip
        user, note = Provenance("prompt", trust="user"), "note"
        memory.remember(Record(note, "Staging is at http://10.0.0.7:8080"), user, at=days_ago(3))
        memory.remember(Record(note, "Boats are sold on Sundays, too"), user, at=days_ago(2))
        memory.remember(Record(note, "The assistant saw a boat"), Provenance("assistant"))
        memory.close()

        told = self.start(client, "start-0").partition("## Facts and Recent Fixes")[2]

        order = ("10.0.0.7", "Sundays", "The login", "The upload", "The build")
        places = [told.index(part) for part in order]
        assert places == sorted(places)
        assert not any(part in told for part in ("The lint", "TLS", "saw a boat"))


def days_ago(days: int) -> str:
    return ids.timestamp(time.time() - days * 24 * 3600)


def test_recall_finds_the_solution_of_a_failed_and_fixed_command(client: SimulatedClient) -> None:
    ran(client, PYTEST, ERROR, failed=True)
    changed(client)
    passes(client)
    stop(client)
    answer: dict[str, Any] = json.loads(client.command("recall", "--json", "KeyError total").stdout)

    assert "solution" in {hit["metadata"]["type"] for hit in answer["results"]}
