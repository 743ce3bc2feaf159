"""A call is held by the hook until the command that the user wants first has passed."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import waiting
from memory_fabric.config import read_settings
from memory_fabric.models import EFFECT, QUOTATION, WHEN, Provenance, Record
from memory_fabric.store.memory import Memory
from replay.hook_runner import TESTS, HereRunner, HookRunner
from servers.live_server import LiveServer

RULE = "Run the tests before you commit"
QUOTE = "please always run the tests before a commit"
COMMIT = 'git add -A && git commit -m "Fix the importer"'
PASSED, FAILED = "3 passed in 0.10s", "Exit code 1\n1 failed, 2 passed in 0.10s"
UNMET = "`pytest` comes first, and has not passed"


@dataclass
class Session:
    """A session of the client in one project: it asks the hook before each call, and writes the
    transcript as the client does.
    """

    hooks: HookRunner
    name: str = "s1"
    agent: str = ""
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def transcript(self) -> Path:
        """The transcript of the session, or of the subagent that it runs as."""
        path = self.hooks.transcript(self.name)
        if self.agent:
            path = path.with_suffix("") / "subagents" / f"agent-{self.agent}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def held(self, command: str, **more: Any) -> str:
        """The reason for which the hook holds a command back, '' if it passes."""
        asked = self.asked("Bash", {"command": command}, **more)
        return str(asked.get("permissionDecisionReason", ""))

    def asked(self, tool: str, given: dict[str, Any], **more: Any) -> dict[str, Any]:
        """The hook's output before a call."""
        event = {
            **json.loads((TESTS / "events" / "PreToolUse.json").read_text("utf-8")),
            "session_id": self.name,
            "transcript_path": str(self.hooks.transcript(self.name)),
            "cwd": str(self.hooks.project),
            "tool_name": tool,
            "tool_input": given,
            "agent_id": self.agent,
            "agent_type": "tester" if self.agent else "",
        }
        result = self.hooks.run(event, more.pop("environ", {}))
        assert (result.status, result.stderr, more) == (0, "", {})
        specific: dict[str, Any] = (result.reply or {}).get("hookSpecificOutput", {})
        return specific

    def made(
        self, tool: str, given: dict[str, Any], output: str = "", *, is_error: bool = False
    ) -> str:
        """Write a call and its result; return its id."""
        id_ = f"toolu_{self.name}{self.agent}{next(self.numbers)}"
        use = {"type": "tool_use", "id": id_, "name": tool, "input": given}
        result = {"type": "tool_result", "tool_use_id": id_, "content": output}
        self.write("assistant", [use])
        self.write("user", [{**result, "is_error": is_error}])
        return id_

    def ran(self, command: str, output: str = "", *, is_error: bool = False, **more: Any) -> str:
        """Write a command and its result; return its id."""
        return self.made("Bash", {"command": command, **more}, output, is_error=is_error)

    def edited(self, path: str) -> None:
        """Write a change of a file of the project."""
        self.made("Edit", {"file_path": str(self.hooks.project / path), "old_string": "a"})

    def write(self, role: str, content: Any, **more: Any) -> None:
        """Append an entry to the transcript."""
        entry = {
            "type": role,
            "uuid": f"{self.name}-{next(self.numbers)}",
            "sessionId": self.name,
            "timestamp": f"2026-03-01T10:00:{next(CLOCK):06.3f}Z",
            "cwd": str(self.hooks.project),
            "isSidechain": bool(self.agent),
            "message": {"role": role, "content": content},
            **more,
        }
        with self.transcript.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")


CLOCK = itertools.count()


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session whose person has typed a prompt."""
    return started(HereRunner(tmp_path))


def started(hooks: HookRunner, name: str = "s1") -> Session:
    hooks.run({"hook_event_name": "SessionStart", "session_id": name, "source": "startup"})
    session = Session(hooks, name)
    session.write("user", "Fix the importer, please.")
    return session


def remember(session: Session, when: str = "commit, first pytest", **evidence: str) -> Record:
    """Store the rule as a note with a checked quotation would be."""
    record = Record(
        "constraint", RULE, confidence=0.85, evidence={WHEN: when, QUOTATION: QUOTE, **evidence}
    )
    memory = Memory.open(read_settings(session.hooks.environ, {}))
    stored = memory.remember(record, Provenance("assistant", trust="user", session="earlier"))
    memory.close()
    assert stored is not None
    return stored


def test_a_commit_is_refused_with_the_users_rule_until_the_tests_have_passed(
    tmp_path: Path,
) -> None:
    session = started(HookRunner(tmp_path))
    rule = remember(session)

    held = session.held(COMMIT)
    session.ran("pytest -q", PASSED)
    passes = session.held(COMMIT)

    assert f"{UNMET} yet." in held.splitlines()[0]
    assert f"[{rule.id[-8:]}] “{QUOTE}”" in held
    assert "bound to: commit, first `pytest`" in held
    assert passes == ""


def test_a_rule_is_not_shown_if_its_required_command_has_passed(session: Session) -> None:
    remember(session)
    session.edited("src/app.py")
    session.ran("cd . && .venv/bin/pytest -q tests 2>&1 | tail -5", PASSED)

    assert [session.asked("Bash", {"command": COMMIT}) for _ in range(2)] == [{}, {}]


def test_a_commit_is_refused_once_after_the_required_tests_failed(
    session: Session,
) -> None:
    remember(session)
    session.ran("pytest -q", FAILED, is_error=True)

    held = [session.held(COMMIT) for _ in range(2)]

    assert UNMET in held[0] and held[1] == ""


@pytest.mark.parametrize(
    ("command", "output", "is_error", "counts"),
    [
        ("pytest -q 2>&1 | tail -3", "1 failed, 2 passed in 0.1s", False, False),
        ("pytest -q 2>&1 | tail -3", PASSED, False, True),
        ("pytest -q || true", "1 failed, 2 passed in 0.1s", False, False),
        ("pytest > /tmp/out 2>&1; echo exit: $?", "exit: 1", False, False),
        ("pytest > /tmp/out 2>&1; echo exit: $?", "exit: 0", False, True),
        ("pytest -q | grep -c xyz", "E   ImportError: no module named shop", False, False),
        ("pytest -q", "/bin/sh: 1: pytest: not found", True, False),
        ("pytest -q", "Command timed out after 2m 0.0s", True, False),
        ("pytest --collect-only", "3 tests collected", False, False),
        ("pytest --help", "usage: pytest", False, False),
        ("echo pytest", "pytest", False, False),
        ("pytest -q && git push", f"Exit code 1\n{PASSED}\nerror: rejected", True, False),
        ("pytest -q && git push", f"Exit code 128\n{PASSED}\nfatal: no remote", True, True),
        ("sleep 1 & pytest -q", PASSED, False, True),
        ("pytest -q & sleep 1", "", False, False),
        ("! pytest -q", "1 failed", False, False),
        ("set -eo pipefail\npytest -q | tail -1\nruff check", "All fine", False, True),
    ],
)
def test_a_required_command_counts_only_if_it_ran_and_did_not_fail(
    session: Session, command: str, output: str, is_error: bool, counts: bool
) -> None:
    remember(session)
    session.ran(command, output, is_error=is_error)

    assert (session.held(COMMIT) == "") == counts


def test_only_the_last_run_of_a_required_command_decides_whether_a_rule_is_satisfied(
    session: Session,
) -> None:
    remember(session)
    session.ran("pytest -q", PASSED)
    session.ran("pytest -q -n 2", FAILED, is_error=True)
    held = session.held(COMMIT)
    session.ran("pytest -q", "Command timed out after 2m 0.0s", is_error=True)
    session.ran("pytest -q", PASSED)

    assert "`pytest` comes first, and failed the last time." in held
    assert session.held(COMMIT) == ""


def test_a_required_command_without_a_recorded_result_does_not_satisfy_the_rule(
    session: Session,
) -> None:
    remember(session)
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest"}}
    session.write("assistant", [use])

    assert UNMET in session.held(COMMIT)


@pytest.mark.parametrize(
    ("ending", "counts"),
    [("completed (exit code 0)", True), ("failed with exit code 1", False), ("", False)],
)
def test_a_background_run_satisfies_the_rule_only_after_it_has_passed(
    session: Session, ending: str, counts: bool
) -> None:
    remember(session)
    started_text = "Command running in background with ID: b1. Output is being written to: /tmp/b1."
    id_ = session.ran("pytest -q", started_text, run_in_background=True)
    notice = (
        f"<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>{id_}</tool-use-id>\n"
        f'<summary>Background command "tests" {ending}</summary>\n</task-notification>'
    )
    if ending:
        session.write("user", notice, origin={"kind": "task-notification"})

    assert (session.held(COMMIT) == "") == counts


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        ("src/app.py", False),
        ("package.json", False),
        ("docs/tests.md", True),
        ("CHANGELOG.md", True),
        ("build/app.js", True),
        ("../elsewhere/app.py", True),
    ],
)
def test_changing_a_source_file_invalidates_a_passed_test_run(
    session: Session, path: str, counts: bool
) -> None:
    remember(session)
    session.ran("pytest -q", PASSED)
    session.edited(path)

    held = session.held(COMMIT)

    assert held == "" if counts else f"{UNMET} since {path} changed." in held


@pytest.mark.parametrize(
    ("command", "counts"),
    [
        ("sed -i s/a/b/ src/app.py", False),
        ("cat > src/new.py <<'EOF'\nx = 1\nEOF", False),
        ("git checkout -- src/app.py", False),
        ("ruff check --fix src", False),
        ("ruff format src", True),
        ("rm -rf build /tmp/x", True),
        ("git status && git diff > /tmp/diff", True),
        ("echo done >> CHANGELOG.md", True),
    ],
)
def test_a_command_that_changes_a_source_file_invalidates_a_passed_test_run(
    session: Session, command: str, counts: bool
) -> None:
    remember(session)
    session.ran("pytest -q", PASSED)
    session.ran(command)

    assert (session.held(COMMIT) == "") == counts


def test_a_failed_edit_does_not_invalidate_a_passed_test_run(session: Session) -> None:
    remember(session)
    session.ran("pytest -q", PASSED)
    edit = {"file_path": str(session.hooks.project / "src/app.py")}
    session.made("Edit", edit, "String to replace not found", is_error=True)

    assert session.held(COMMIT) == ""


def test_edits_do_not_invalidate_a_required_git_pull(
    session: Session,
) -> None:
    remember(session, "`git push`, first `git pull`")

    held = session.held("git push")
    session.ran("git pull --rebase", "Already up to date.")
    session.edited("src/app.py")

    assert "`git pull` comes first" in held
    assert session.held("git push") == ""


@pytest.mark.parametrize(
    ("command", "passes"),
    [
        ("pytest -q && git commit -m x", True),
        ("cd src && (pytest -q) && git add -A && git commit -m \"$(cat <<'E'\nx\nE\n)\"", True),
        ("bash -c 'pytest && git commit -m x'", True),
        ("set -e; pytest; git commit -m x", True),
        ("pytest -q; git commit -m x", False),
        ("pytest -q | tail -3 && git commit -m x", False),
        ("pytest -q || git commit -m x", False),
        ("git commit -m x && pytest -q", False),
        ("pytest -q && sed -i s/a/b/ src/app.py && git commit -am x", False),
        ("git commit -m 'pytest && done'", False),
    ],
)
def test_a_commit_in_the_same_line_as_the_tests_must_depend_on_their_success(
    session: Session, command: str, passes: bool
) -> None:
    remember(session)

    assert (session.held(command) == "") == passes


def test_a_commit_is_refused_again_after_a_source_file_changes(session: Session) -> None:
    remember(session)
    first = [session.held(COMMIT) for _ in range(2)]
    session.ran("pytest -q", PASSED)
    session.ran(COMMIT)
    session.edited("src/app.py")
    second = [session.held(COMMIT) for _ in range(2)]

    assert [UNMET in reason for reason in (*first, *second)] == [True, False, True, False]


def test_a_rule_with_effect_deny_refuses_every_call_until_the_tests_have_passed(
    session: Session,
) -> None:
    rule = remember(session, **{EFFECT: "deny"})
    refused = [session.held(COMMIT) for _ in range(3)]
    session.ran("pytest -q", PASSED)

    assert all(UNMET in reason and f"`lift {rule.id[-8:]}`" in reason for reason in refused)
    assert session.held(COMMIT) == ""


def test_a_rule_with_effect_deny_refuses_only_once_if_the_transcript_is_missing(
    session: Session,
) -> None:
    remember(session, **{EFFECT: "deny"})
    session.transcript.unlink()

    held = [session.held(COMMIT) for _ in range(2)]

    assert "as far as can be seen here" in held[0] and held[1] == ""


def test_the_user_is_asked_about_a_call_until_the_required_command_has_passed(
    session: Session,
) -> None:
    remember(session, "git push, first pytest", **{EFFECT: "ask"})
    push = {"command": "git push"}

    asked = [session.asked("Bash", push) for _ in range(2)]
    session.ran("pytest", PASSED)

    assert [one["permissionDecision"] for one in asked] == ["ask", "ask"]
    assert UNMET in asked[0]["permissionDecisionReason"]
    assert session.asked("Bash", push) == {}


def test_an_edit_of_a_file_is_also_refused_until_the_required_command_has_passed(
    session: Session,
) -> None:
    remember(session, "src/api/**, first `make schema`")
    edit = {"file_path": str(session.hooks.project / "src/api/users.py"), "old_string": "a"}

    held = session.asked("Edit", edit)
    session.ran("make schema", "written")

    assert "`make schema` comes first" in held["permissionDecisionReason"]
    assert session.asked("Edit", edit) == {}


def test_a_call_is_refused_until_all_required_commands_have_passed(session: Session) -> None:
    remember(session, "commit, first pytest and ruff check")
    session.ran("pytest -q", PASSED)
    held = session.held(COMMIT)
    session.ran("ruff check .", "All checks passed!")

    assert "`ruff check` comes first" in held and UNMET not in held
    assert session.held(COMMIT) == ""


def test_a_rule_that_requires_the_tests_is_satisfied_by_any_test_command(session: Session) -> None:
    remember(session, "commit, first the tests")
    held = session.held(COMMIT)
    session.ran("npm run test:unit", "Tests: 4 passed")

    assert "“test” comes first" in held
    assert session.held(COMMIT) == ""


def test_a_test_run_or_edit_by_a_subagent_counts_for_the_whole_session(session: Session) -> None:
    remember(session)
    agent = Session(session.hooks, session.name, "a1")
    agent.write("user", "Run the tests.")
    agent.ran("pytest -q", PASSED)
    passed = session.held(COMMIT)
    agent.edited("src/app.py")
    held = session.held(COMMIT)
    session.ran("pytest -q", PASSED)

    assert passed == "" and f"{UNMET} since src/app.py changed" in held
    assert agent.held(COMMIT) == ""


def test_a_rule_refuses_a_call_once_in_the_main_session_and_once_in_a_subagent(
    session: Session,
) -> None:
    remember(session)
    agent = Session(session.hooks, session.name, "a1")

    assert UNMET in session.held(COMMIT)
    assert [UNMET in agent.held(COMMIT) for _ in range(2)] == [True, False]


def test_a_run_in_another_session_does_not_satisfy_the_rule(session: Session) -> None:
    remember(session)
    other = started(session.hooks, "s2")
    other.ran("pytest -q", PASSED)

    assert other.held(COMMIT) == ""
    assert UNMET in session.held(COMMIT)


def test_a_run_before_a_compaction_still_satisfies_the_rule(session: Session) -> None:
    remember(session)
    session.ran("pytest -q", PASSED)
    event = {"session_id": "s1", "transcript_path": str(session.transcript)}
    for name in ("PreCompact", "PostCompact"):
        session.hooks.run({"hook_event_name": name, "trigger": "auto", **event})
    session.write("user", "We fixed the importer.", isCompactSummary=True)
    session.hooks.run({"hook_event_name": "SessionStart", "source": "compact", **event})

    assert session.held(COMMIT) == ""


def test_rules_with_required_commands_work_the_same_through_a_running_server(
    tmp_path: Path,
) -> None:
    hooks = HookRunner(tmp_path)
    (hooks.project / ".git").mkdir()
    session = started(hooks)
    remember(session)

    with LiveServer(hooks.environ) as server:
        held = session.held(COMMIT)
        session.ran("pytest -q", PASSED)
        passes = session.held(COMMIT)
        waiting.until(lambda: server.ways() == "WW")

    assert UNMET in held and passes == "" and server.errors == ""


@pytest.mark.parametrize("effect", ["", "deny", "ask"])
def test_in_an_unattended_session_a_rule_is_shown_once_but_refuses_nothing(
    session: Session, effect: str
) -> None:
    remember(session, **({EFFECT: effect} if effect else {}))
    environ = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"}

    told = [session.asked("Bash", {"command": COMMIT}, environ=environ) for _ in range(2)]

    assert "permissionDecision" not in told[0] and RULE in told[0]["additionalContext"]
    assert told[1] == {}


def test_unreadable_parts_of_a_transcript_are_skipped(session: Session) -> None:
    remember(session)
    with session.transcript.open("ab") as stream:
        stream.write(b'\xff\xfe{"type": "assistant"\n[]\n{"message": 3}\n')
    session.ran("pytest -q", PASSED)

    assert session.held(COMMIT) == ""
