"""What a session did, through the door: problems with their solutions, and its own record."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from house import House
from memory_fabric import ids
from memory_fabric.models import Provenance, Record

TASK = "Build the analytics importer for CSV uploads, please"
ERROR = "Exit code 1\nE   KeyError: 'total'\n1 failed"
PYTEST = "pytest tests/test_cart.py"
# As the client makes them: it must not look like a secret.
REAL_ID = "toolu_01A09q90qw90lq917835lq9x"


def now() -> str:
    return ids.timestamp(time.time())


def ran(house: House, command: str, output: str, *, failed: bool = False) -> None:
    house.lines += 1
    id_ = f"b{house.lines}"
    call = {"type": "tool_use", "id": id_, "name": "Bash", "input": {"command": command}}
    house.say("assistant", call, timestamp=now())
    answered(house, id_, output, failed=failed)


def answered(house: House, id_: str, output: str, *, failed: bool = False) -> None:
    result = {"type": "tool_result", "tool_use_id": id_, "content": output, "is_error": failed}
    house.say("user", result, timestamp=now())


def changed(house: House, name: str = "cart.py", *, failed: bool = False) -> None:
    house.lines += 1
    id_, path = f"e{house.lines}", str(house.project / name)
    call = {"type": "tool_use", "id": id_, "name": "Edit", "input": {"file_path": path}}
    house.say("assistant", call, timestamp=now())
    answered(house, id_, "no such text" if failed else "ok", failed=failed)


def stop(house: House, session: str = "session-1") -> None:
    house.fire("Stop", session, last_assistant_message="Done.", stop_hook_active=False)


def of_type(house: House, kind: str) -> list[Record]:
    return [record for record in house.records() if record.type == kind]


def solved(house: House) -> tuple[Record, Record]:
    (problem,), (solution,) = of_type(house, "problem"), of_type(house, "solution")
    return problem, solution


class TestIncidents:
    def test_c8_a_problem_and_its_solution_name_each_other_and_the_evidence(
        self, house: House
    ) -> None:
        commit = "0123456789abcdef0123456789abcdef01234567"
        (house.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (house.project / ".git" / "packed-refs").write_text(f"# x\n{commit} refs/heads/main\n")
        ran(house, PYTEST, ERROR, failed=True)
        house.say("assistant", "It fails because the cart has no total.", timestamp=now())
        changed(house)
        ran(house, f"cd {house.project} && {PYTEST} -q 2>&1 | tail -5", "3 passed in 0.1s")
        stop(house)
        problem, solution = solved(house)

        assert problem.what == f"`{PYTEST}` failed: KeyError: 'total'"
        assert solution.why == "It fails because the cart has no total"
        assert problem.evidence == {
            "command": PYTEST,
            "error": "KeyError: 'total'",
            "files": ["cart.py"],
            "commit": commit,
            "solution": solution.id,
        }
        assert solution.evidence["problem"] == problem.id

    def test_a_failure_of_one_turn_is_solved_in_a_later_one(self, house: House) -> None:
        ran(house, PYTEST, ERROR, failed=True)
        stop(house)
        changed(house)
        house.fire("PreCompact", trigger="auto")
        assert house.records() == []
        ran(house, PYTEST, "3 passed")
        stop(house)

        assert solved(house)[1].evidence["files"] == ["cart.py"]

    def test_a_result_that_comes_after_the_reading_belongs_to_its_command(
        self, house: House
    ) -> None:
        call = {"type": "tool_use", "id": REAL_ID, "name": "Bash", "input": {"command": PYTEST}}
        house.say("assistant", call, timestamp=now())
        house.fire("PreCompact", trigger="auto")
        answered(house, REAL_ID, ERROR, failed=True)
        changed(house)
        ran(house, PYTEST, "3 passed")
        stop(house)

        assert len(of_type(house, "solution")) == 1

    def test_a_change_that_failed_is_none(self, house: House) -> None:
        ran(house, PYTEST, ERROR, failed=True)
        changed(house, failed=True)
        ran(house, PYTEST, "3 passed")
        stop(house)

        assert house.records() == []

    def test_the_same_problem_again_in_another_session_is_one_problem(self, house: House) -> None:
        for session in ("session-1", "session-2"):
            house.transcript = house.transcript.with_name(f"{session}.jsonl")
            ran(house, PYTEST, ERROR, failed=True)
            changed(house, f"{session}.py")
            ran(house, PYTEST, "3 passed")
            said = house.transcript.read_text().replace('"session-1"', f'"{session}"')
            house.transcript.write_text(said)
            stop(house, session)
        (problem,) = of_type(house, "problem")
        solutions = of_type(house, "solution")

        assert len(solutions) == 2
        assert {s.evidence["problem"] for s in solutions} == {problem.id}

    def test_read_again_it_is_not_stored_again(self, house: House) -> None:
        ran(house, PYTEST, ERROR, failed=True)
        changed(house)
        ran(house, PYTEST, "3 passed")
        stop(house)
        before = house.records("1")
        memory = house.memory()
        with memory.session_database().transaction() as c:
            c.execute("DELETE FROM sessions")
        memory.close()
        stop(house)

        assert house.records("1") == before

    def test_forgetting_and_undoing_take_one_of_the_pair_alone(self, house: House) -> None:
        ran(house, PYTEST, ERROR, failed=True)
        changed(house)
        ran(house, PYTEST, "3 passed")
        stop(house)
        problem, solution = solved(house)
        assert house.command("undo", "--last", "--yes").returncode == 0
        assert [r.id for r in house.records()] == [problem.id]
        assert house.command("undo", "--last", "--yes").returncode == 0
        memory = house.memory()
        memory.forget([problem.id], Provenance("cli", trust="user"))
        memory.close()

        assert [r.id for r in house.records()] in ([solution.id], [])

    def test_a_secret_in_command_and_error_is_in_neither(self, house: House) -> None:
        secret = "sk-" + "aB3dE5fG7hI9jK1lM2nO4pQ6"
        ran(house, f"deploy --token {secret}", f"Error: bad {secret}", failed=True)
        changed(house)
        stop(house)
        ran(house, f"deploy --token {secret}", "deployed")
        stop(house)

        for path in house.home.rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes()


class TestSessionRecord:
    def work(self, house: House, end: str = "All done.") -> None:
        house.say("user", TASK, timestamp=now())
        changed(house)
        house.say("assistant", end, timestamp=now())
        stop(house)

    def test_one_record_a_session_brought_up_to_date(self, house: House) -> None:
        self.work(house)
        house.fire("SessionEnd", reason="other")
        (first,) = of_type(house, "session")
        ran(house, PYTEST, ERROR, failed=True)
        house.fire("SessionEnd", reason="other")
        (second,) = of_type(house, "session")

        assert first.what == f"Asked: {TASK}. Outcome: done. Changed: cart.py"
        assert (first.domain, first.outcome, first.session) == ("session", "success", "session-1")
        assert second.id == first.id
        assert second.evidence["open"] == [f"`{PYTEST}` fails (KeyError: 'total')"]
        assert second.outcome == "failed"

    def test_it_names_what_was_decided(self, house: House) -> None:
        house.fire("UserPromptSubmit", prompt="We decided to use Redis because it is shared.")
        self.work(house)
        house.fire("SessionEnd", reason="other")
        (record,) = of_type(house, "session")

        assert record.evidence["decisions"] == [r.id for r in of_type(house, "decision")]

    def test_a_greeting_and_a_question_leave_none(self, house: House) -> None:
        house.say("user", "Hello there, how does the importer parse its dates?")
        house.say("assistant", "With dateutil.")
        stop(house)
        house.fire("SessionEnd", reason="other")

        assert house.records("1") == []

    def test_to_do_items_are_followed_from_reading_to_reading(self, house: House) -> None:
        for n, subject in enumerate(("Parse the CSV", "Write the docs"), 1):
            call = {"type": "tool_use", "id": f"c{n}", "name": "TaskCreate",
                    "input": {"subject": subject}}  # fmt: skip
            house.say("assistant", call, timestamp=now())
            answered(house, f"c{n}", f"Task #{n} created successfully: {subject}")
        self.work(house)
        done = {"type": "tool_use", "id": "u1", "name": "TaskUpdate",
                "input": {"taskId": "1", "status": "completed"}}  # fmt: skip
        house.say("assistant", done, timestamp=now())
        answered(house, "u1", "ok")
        house.fire("SessionEnd", reason="other")
        (record,) = of_type(house, "session")

        assert record.evidence["open"] == ["to do: Write the docs"]
        assert record.evidence["outcome"] == "open"

    def test_it_is_in_no_other_tier_and_no_list_of_decisions(self, house: House) -> None:
        self.work(house)
        house.fire("SessionEnd", reason="other")
        house.fire("Stop", "session-2", last_assistant_message="ok", transcript_path="")

        assert of_type(house, "session")
        assert not (house.project / ".claude" / "memory" / "decisions.jsonl").exists()
        assert not house.memory_md_file().exists()
        assert TASK not in house.context("SessionStart", "session-2", source="startup")

    def test_forgotten_it_stays_away_and_pinned_it_stays_pinned(self, house: House) -> None:
        self.work(house)
        house.fire("SessionEnd", reason="other")
        (record,) = of_type(house, "session")
        assert house.command("pin", record.id).returncode == 0
        changed(house, "db.py")
        house.fire("SessionEnd", reason="other")
        (record,) = of_type(house, "session")
        assert record.pinned
        assert "db.py" in record.what
        memory = house.memory()
        memory.forget([record.id], Provenance("cli", trust="user"))
        memory.close()
        changed(house, "more.py")
        house.fire("SessionEnd", reason="other")

        assert of_type(house, "session") == []

    def test_undone_it_is_as_it_was(self, house: House) -> None:
        self.work(house)
        house.fire("SessionEnd", reason="other")
        before = of_type(house, "session")
        changed(house, "db.py")
        house.fire("SessionEnd", reason="other")
        assert of_type(house, "session") != before
        assert house.command("undo", "--last", "--yes").returncode == 0

        assert of_type(house, "session") == before

    def test_in_ci_there_is_none(self, house: House) -> None:
        house.environ["CI"] = "true"
        self.work(house)
        house.fire("SessionEnd", reason="other")

        assert house.records("1") == []


class TestHandOver:
    LEFT = "the last session left open"

    def left_open(self, house: House, end: str = "Should I drop the old column?") -> None:
        house.say("user", TASK, timestamp=now())
        changed(house)
        house.say("assistant", end, timestamp=now())
        stop(house)
        house.fire("SessionEnd", reason="other")

    def start(self, house: House, session: str, source: str = "startup") -> str:
        context = house.context("SessionStart", session, source=source, transcript_path="")
        assert len(context) <= 3000
        return context

    def test_the_next_session_is_told_in_one_line_and_no_other(self, house: House) -> None:
        self.left_open(house)
        told = self.start(house, "session-2")

        assert told.count(self.LEFT) == 1
        assert "Should I drop the old column?" in told
        assert self.LEFT not in self.start(house, "session-2")
        assert self.LEFT not in self.start(house, "session-3")

    def test_a_resumed_session_and_one_without_open_ends_tell_nothing(self, house: House) -> None:
        self.left_open(house)
        assert self.LEFT not in self.start(house, "session-1", "resume")
        house.say("user", "Yes, drop the old column now", timestamp=now())
        house.say("assistant", "Dropped.", timestamp=now())
        house.fire("SessionEnd", reason="other")

        assert self.LEFT not in self.start(house, "session-2")

    def test_after_some_days_it_is_not_news(self, house: House) -> None:
        self.left_open(house)
        memory = house.memory()
        long_ago = ids.timestamp(time.time() - 10 * 24 * 3600)
        with memory.session_database().transaction() as c:
            c.execute("UPDATE records SET created_at = ?", (long_ago,))
        memory.close()

        assert self.LEFT not in self.start(house, "session-2")

    def test_full_of_decisions_the_block_still_has_room_for_it(self, house: House) -> None:
        memory = house.memory()
        for n in range(12):
            what = f"Rule {n}: " + "the importer keeps every column it does not know " * 8
            memory.remember(Record("constraint", what, why="x " * 90), Provenance("import"))
        memory.close()
        self.left_open(house)

        assert self.LEFT in self.start(house, "session-2")

    def test_one_that_broke_off_is_handed_over_by_the_start_that_caught_it_up(
        self, house: House
    ) -> None:
        house.fire("UserPromptSubmit", prompt=TASK)
        house.say("user", TASK, timestamp=now())
        changed(house)
        ran(house, PYTEST, ERROR, failed=True)
        then = time.time() - 7200
        os.utime(house.transcript, (then, then))
        memory = house.memory()
        with memory.session_database().transaction() as c:
            c.execute("UPDATE sessions SET seen_at = ?", (ids.timestamp(then),))
        memory.close()

        assert f"`{PYTEST}` fails" in self.start(house, "session-2")


def test_the_evidence_of_a_record_is_told_by_history(house: House) -> None:
    ran(house, PYTEST, ERROR, failed=True)
    changed(house)
    ran(house, PYTEST, "3 passed")
    stop(house)
    answer: dict[str, Any] = json.loads(house.command("recall", "--json", "KeyError total").stdout)

    assert {hit["metadata"]["type"] for hit in answer["results"]} >= {"problem", "solution"}
