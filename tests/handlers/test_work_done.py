"""The records of the work of a session: fixes, and its own record."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from memory_fabric import ids
from memory_fabric.models import Provenance, Record
from simulated_client import SimulatedClient

TASK = "Build the analytics importer for CSV uploads, please"
OUTCOME = "The report reads the new view of paid orders."
ERROR = "Exit code 1\nE   KeyError: 'total'\n1 failed"
PYTEST = "pytest tests/test_cart.py"
# As the client makes them: it must not look like a secret.
REAL_ID = "toolu_01A09q90qw90lq917835lq9x"


def now() -> str:
    return ids.timestamp(time.time())


def ran(client: SimulatedClient, command: str, output: str, *, failed: bool = False) -> None:
    client.lines += 1
    id_ = f"b{client.lines}"
    call = {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": command}}
    client.say("assistant", call, timestamp=now())
    answered(client, id_, output, failed=failed)


def answered(client: SimulatedClient, id_: str, output: str, *, failed: bool = False) -> None:
    result = {"type": "tool_result", "tool_use_id": id_, "content": output, "is_error": failed}
    client.say("user", result, timestamp=now())


def changed(client: SimulatedClient, name: str = "cart.py", *, failed: bool = False) -> None:
    client.lines += 1
    id_, path = f"e{client.lines}", str(client.project / name)
    call = {"type": "tool_use", "id": id_, "name": "Edit", "input": {"file_path": path}}
    client.say("assistant", call, timestamp=now())
    answered(client, id_, "no such text" if failed else "ok", failed=failed)


def passes(client: SimulatedClient) -> None:
    """Let the command pass, and the assistant say why it had failed."""
    ran(client, PYTEST, "3 passed")
    said = "The root cause was that the cart had no total."
    client.say("assistant", said, timestamp=now())


def stop(client: SimulatedClient, session: str = "session-1", said: str = "Done.") -> None:
    client.fire("Stop", session, last_assistant_message=said, stop_hook_active=False)


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
    def test_c8_a_fix_is_the_stated_cause_with_its_evidence(self, client: SimulatedClient) -> None:
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

    def test_it_is_found_by_the_users_symptom(self, client: SimulatedClient) -> None:
        self.test_c8_a_fix_is_the_stated_cause_with_its_evidence(client)

        assert "cart has no total" in client.command("recall", "checkout page crashes").stdout

    def test_a_noted_fix_is_given_the_evidence_instead_of_a_second_record(
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

    def test_a_noted_fix_of_something_else_is_left_alone(self, client: SimulatedClient) -> None:
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

    def test_a_noted_fix_is_found_by_what_the_user_reported(self, client: SimulatedClient) -> None:
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

    def test_a_failure_of_one_turn_is_solved_in_a_later_one(self, client: SimulatedClient) -> None:
        ran(client, PYTEST, ERROR, failed=True)
        stop(client)
        changed(client)
        client.fire("PreCompact", trigger="auto")
        assert client.records() == []
        passes(client)
        stop(client)

        assert fix(client).evidence["files"] == ["cart.py"]

    def test_a_result_that_comes_after_the_reading_belongs_to_its_command(
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

    def test_a_change_that_failed_is_none(self, client: SimulatedClient) -> None:
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

    def test_read_again_it_is_not_stored_again(self, client: SimulatedClient) -> None:
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

    def test_undo_takes_it_back(self, client: SimulatedClient) -> None:
        ran(client, PYTEST, ERROR, failed=True)
        changed(client)
        passes(client)
        stop(client)
        assert fix(client)
        assert client.command("undo", "--last", "--yes").returncode == 0

        assert client.records() == []

    def test_a_secret_in_command_and_error_is_in_neither(self, client: SimulatedClient) -> None:
        secret = "sk-" + "aB3dE5fG7hI9jK1lM2nO4pQ6"
        ran(client, f"deploy --token {secret}", f"Error: bad {secret}", failed=True)
        changed(client)
        stop(client)
        ran(client, f"deploy --token {secret}", "deployed")
        stop(client)

        for path in {*client.home.rglob("*")} - {client.transcript}:
            assert not path.is_file() or secret.encode() not in path.read_bytes()


class TestSessionRecord:
    def work(self, client: SimulatedClient, end: str = "All done.") -> None:
        client.say("user", TASK, timestamp=now())
        changed(client)
        client.say("assistant", end, timestamp=now())
        stop(client)

    def test_one_record_a_session_brought_up_to_date(self, client: SimulatedClient) -> None:
        self.work(client)
        client.fire("SessionEnd", reason="other")
        (first,) = of_type(client, "session")
        ran(client, PYTEST, ERROR, failed=True)
        client.fire("SessionEnd", reason="other")
        (second,) = of_type(client, "session")

        assert first.what == f"Asked: {TASK}. Outcome: done. Changed: cart.py"
        assert (first.domain, first.outcome, first.session) == ("session", "success", "session-1")
        assert second.id == first.id
        assert second.evidence["open"] == [f"`{PYTEST}` fails (KeyError: 'total')"]
        assert second.outcome == "failed"

    def test_it_names_what_was_decided(self, client: SimulatedClient) -> None:
        client.note("decision", "Redis holds the tokens, since it is shared")
        self.work(client)
        client.fire("SessionEnd", reason="other")
        (record,) = of_type(client, "session")

        assert record.evidence["decisions"] == [r.id for r in of_type(client, "decision")]

    def test_a_greeting_and_a_question_leave_none(self, client: SimulatedClient) -> None:
        client.say("user", "Hello there, how does the importer parse its dates?")
        client.say("assistant", "With dateutil.")
        stop(client)
        client.fire("SessionEnd", reason="other")

        assert client.records("1") == []

    def test_to_do_items_are_followed_from_reading_to_reading(
        self, client: SimulatedClient
    ) -> None:
        for n, subject in enumerate(("Parse the CSV", "Write the docs"), 1):
            call = {"type": "tool_use", "id": f"c{n}", "name": "TaskCreate",
                    "input": {"subject": subject}}  # fmt: skip
            client.say("assistant", call, timestamp=now())
            answered(client, f"c{n}", f"Task #{n} created successfully: {subject}")
        self.work(client, "The parser is in place; the docs come next.")
        done = {"type": "tool_use", "id": "u1", "name": "TaskUpdate",
                "input": {"taskId": "1", "status": "completed"}}  # fmt: skip
        client.say("assistant", done, timestamp=now())
        answered(client, "u1", "ok")
        client.fire("SessionEnd", reason="other")
        (record,) = of_type(client, "session")

        assert record.evidence["open"] == ["to do: Write the docs"]
        assert record.evidence["outcome"] == "open"

    def test_it_is_in_no_other_tier_and_no_list_of_decisions(self, client: SimulatedClient) -> None:
        self.work(client)
        client.fire("SessionEnd", reason="other")
        client.fire("Stop", "session-2", last_assistant_message="ok", transcript_path="")

        assert of_type(client, "session")
        assert not (client.project / ".claude" / "memory" / "decisions.jsonl").exists()
        assert not client.memory_md_file().exists()
        told = client.context("SessionStart", "session-2", source="startup")
        assert told.count(TASK) == 1
        assert "Recent Project Decisions" not in told

    def test_forgotten_it_stays_away_and_pinned_it_stays_pinned(
        self, client: SimulatedClient
    ) -> None:
        self.work(client)
        client.fire("SessionEnd", reason="other")
        (record,) = of_type(client, "session")
        assert client.command("pin", record.id).returncode == 0
        changed(client, "db.py")
        client.fire("SessionEnd", reason="other")
        (record,) = of_type(client, "session")
        assert record.pinned
        assert "db.py" in record.what
        memory = client.memory()
        memory.forget([record.id], Provenance("cli", trust="user"))
        memory.close()
        changed(client, "more.py")
        client.fire("SessionEnd", reason="other")

        assert of_type(client, "session") == []

    def test_undone_it_is_as_it_was(self, client: SimulatedClient) -> None:
        self.work(client)
        client.fire("SessionEnd", reason="other")
        before = of_type(client, "session")
        changed(client, "db.py")
        client.fire("SessionEnd", reason="other")
        assert of_type(client, "session") != before
        assert client.command("undo", "--last", "--yes").returncode == 0

        assert of_type(client, "session") == before

    def test_in_ci_there_is_none(self, client: SimulatedClient) -> None:
        client.environ["CI"] = "true"
        self.work(client)
        client.fire("SessionEnd", reason="other")

        assert client.records("1") == []


class TestHandOver:
    LEFT = "left open: asked the user"

    def left_open(
        self, client: SimulatedClient, end: str = "Should I drop the old column?"
    ) -> None:
        client.say("user", TASK, timestamp=now())
        changed(client)
        client.say("assistant", end, timestamp=now())
        stop(client)
        client.fire("SessionEnd", reason="other")

    def start(self, client: SimulatedClient, session: str, source: str = "startup") -> str:
        context = client.context("SessionStart", session, source=source, transcript_path="")
        assert len(context) <= 3000
        return context

    def test_later_sessions_are_told_in_one_line_until_another_one_worked(
        self, client: SimulatedClient
    ) -> None:
        self.left_open(client)
        told = self.start(client, "session-2")

        assert told.count("Last session (") == 1
        assert "left open: asked the user: Should I drop the old column?" in told
        assert TASK in told
        assert self.start(client, "session-3") == told
        worked(client, "session-3", "Drop the old column of the orders now")
        last = self.start(client, "session-4")
        assert f"outcome: {OUTCOME}" in last and TASK not in last

    def test_a_resumed_session_and_one_without_open_ends_tell_nothing(
        self, client: SimulatedClient
    ) -> None:
        self.left_open(client)
        assert self.LEFT not in self.start(client, "session-1", "resume")
        client.say("user", "Yes, drop the old column now", timestamp=now())
        client.say("assistant", "Dropped.", timestamp=now())
        client.fire("SessionEnd", reason="other")

        assert self.LEFT not in self.start(client, "session-2")

    def test_after_some_weeks_it_is_not_news(self, client: SimulatedClient) -> None:
        self.left_open(client)
        memory = client.memory()
        long_ago = ids.timestamp(time.time() - 20 * 24 * 3600)
        with memory.session_database().transaction() as c:
            c.execute("UPDATE records SET created_at = ?", (long_ago,))
        memory.close()

        assert self.LEFT not in self.start(client, "session-2")

    def test_an_open_point_of_the_assistant_is_told_until_three_sessions_passed_it_over(
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

    def test_facts_of_the_last_session_are_told_rather_than_its_answer(
        self, client: SimulatedClient
    ) -> None:
        fact = "The sandbox of the payment provider is down at night"
        client.note("fact", fact, session="work-0")
        worked(client, "work-0")

        told = self.start(client, "start-0")
        assert f"settled: {fact}" in told and OUTCOME not in told

    def test_full_of_decisions_the_block_still_has_room_for_it(
        self, client: SimulatedClient
    ) -> None:
        memory = client.memory()
        for n in range(12):
            what = f"Rule {n}: " + "the importer keeps every column it does not know " * 8
            memory.remember(Record("constraint", what, why="x " * 90), Provenance("import"))
        memory.close()
        self.left_open(client)

        assert self.LEFT in self.start(client, "session-2")

    def test_one_that_broke_off_is_handed_over_by_the_start_that_caught_it_up(
        self, client: SimulatedClient
    ) -> None:
        client.fire("UserPromptSubmit", prompt=TASK)
        client.say("user", TASK, timestamp=now())
        changed(client)
        ran(client, PYTEST, ERROR, failed=True)
        then = time.time() - 7200
        os.utime(client.transcript, (then, then))
        memory = client.memory()
        with memory.session_database().transaction() as c:
            c.execute("UPDATE sessions SET seen_at = ?", (ids.timestamp(then),))
        memory.close()

        assert f"`{PYTEST}` fails" in self.start(client, "session-2")


def test_the_evidence_of_a_record_is_told_by_history(client: SimulatedClient) -> None:
    ran(client, PYTEST, ERROR, failed=True)
    changed(client)
    passes(client)
    stop(client)
    answer: dict[str, Any] = json.loads(client.command("recall", "--json", "KeyError total").stdout)

    assert "solution" in {hit["metadata"]["type"] for hit in answer["results"]}
