"""review --branch: what a branch changes in the records that a project shares by git."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from command_line import Done
from memory_fabric.cli.commands.share import markdown
from memory_fabric.models import Record
from sync.repositories import Machine

FILE = Path(".claude/memory/decisions.jsonl")


class Clone(Machine):
    """A machine whose project is a repository with shared records on main and a branch."""

    def git(self, *words: str) -> None:
        """Run git in the project."""
        who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
        command = ["git", "-C", str(self.hooks.project), *who, *words]
        subprocess.run(command, check=True, capture_output=True, env=self.environ)

    @property
    def environ(self) -> dict[str, str]:
        """The environment without a git configuration of the machine."""
        return {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}

    def commit(self, *records: dict[str, object], **files: str) -> None:
        """Commit lines of records and files."""
        path = self.hooks.project / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(record) + "\n" for record in records)
        for name, text in files.items():
            (self.hooks.project / f"{name}.py").write_text(text, "utf-8")
        self.git("add", "-f", ".")
        self.git("commit", "-qm", "change")

    def report(self, *words: str) -> Done:
        """The report."""
        return self.run("review", "--branch", *words)


def record(number: int, what: str, **fields: object) -> dict[str, object]:
    """A line of decisions.jsonl."""
    time = f"2026-01-0{number}T10:00:00.000Z"
    id_ = f"01a2218c-b1e6-708d-b4dc-ba8b0e0d6c0{number}"
    fixed = {"id": id_, "type": "decision", "what": what, "created_at": time, "author": "bob"}
    return fixed | {"valid_from": time, "scope": "team", "status": "active"} | fields


KAFKA = record(1, "The order events use Kafka")
RETRY = record(2, "Retries are in billing.py, three times")
OLD = record(3, "Prices are integers in cents")


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """A project with three records on main, on a branch of its own."""
    made = Clone(tmp_path, "desk")
    (made.hooks.project / ".git").rmdir()
    made.git("init", "-q", "-b", "main")
    made.commit(KAFKA, RETRY, OLD, billing="retries = 3\n")
    made.git("checkout", "-qb", "topic")
    return made


def test_branch_report_lists_added_contradicted_replaced_and_stale_records(clone: Clone) -> None:
    new = record(4, "Do not use Kafka for the order events", why="it is @heavy | <b>slow</b>")
    cents = record(5, "Prices are decimals")
    closed = OLD | {"superseded_by": cents["id"], "valid_to": "2026-01-05T10:00:00.000Z"}
    clone.commit(new, cents, closed, billing="retries = 5\n")

    shown, found = clone.report("main"), clone.report("main", "--json").json

    assert shown.status == 0, shown.err
    for part in ("### Adds", "### Contradicts", "### Replaces", "### May make stale"):
        assert part in shown.out
    assert "@heavy" not in shown.out and "<b>" not in shown.out and "\\|" in shown.out
    assert [one["what"] for one in found["added"]] == [new["what"], cents["what"]]
    assert [one["against"]["what"] for one in found["contradictions"]] == [KAFKA["what"]]
    assert [(one["record"]["what"], one["files"]) for one in found["stale"]] == [
        (RETRY["what"], ["billing.py"])
    ]


def test_the_report_of_a_branch_without_new_records_lists_nothing(clone: Clone) -> None:
    clone.commit(other="x = 1\n")

    assert "Nothing." in clone.report().out


def test_a_branch_report_lists_forgotten_records_and_counts_invalid_lines(clone: Clone) -> None:
    clone.commit({"id": KAFKA["id"], "forgotten": True}, {"what": "no record"})

    shown = clone.report("main").out

    assert "### Takes away" in shown and "Kafka" in shown and "1 line of the file" in shown


def test_an_unknown_git_revision_as_base_is_refused_with_a_remedy(clone: Clone) -> None:
    done = clone.report("nowhere")

    assert done.status == 2 and "nowhere" in done.err and "fetch-depth" in done.err
    assert clone.run("review", "main").status == 2


def test_a_report_escapes_what_others_wrote_and_groups_it_by_kind() -> None:
    old = Record("decision", "Use *Kafka*", id="0190-00000001", author="bob")
    new = Record("decision", "Use Redis", "it is @fast", id="0190-00000002")
    closed = old._replace(superseded_by=new.id)
    report = {
        "base": "main",
        "added": [new],
        "changed": [{"before": old, "now": closed}],
        "contradictions": [{"stated": new, "against": old}],
        "stale": [{"record": old, "files": ["a.py", "b.py", "c.py", "d.py"]}],
        "withdrawn": [old],
        "unreadable": 2,
    }
    redis = "Use Redis because it is @ fast (decision 00000002)"
    kafka = "Use \\*Kafka\\* (decision 00000001, bob)"

    text = "\n".join(markdown(report))

    assert text.startswith("## Memory: what this branch changes since main\n\n### Adds\n")
    assert f"### Adds\n\n- {redis}\n" in text
    assert f"### Contradicts\n\n- {redis}\n  - against {kafka}\n" in text
    assert f"### Replaces\n\n- {kafka}\n  - by {redis}\n" in text
    assert f"### Takes away\n\n- {kafka}\n" in text
    assert f"files that they name\n\n- {kafka}\n  - a.py, b.py, c.py\n" in text
    assert "### Changes" not in text and "Nothing." not in text
    assert text.endswith("\n2 lines of the file cannot be read.")


def test_a_report_shows_a_reworded_record_with_its_former_words() -> None:
    old = Record("decision", "Use Kafka", id="0190-00000001")
    report: dict[str, Any] = dict.fromkeys(("added", "contradictions", "stale", "withdrawn"), ())
    report |= {"base": "main", "unreadable": 0}
    report["changed"] = [{"before": old, "now": old._replace(what="Use Redis")}]

    text = "\n".join(markdown(report))

    assert "### Changes\n\n- Use Redis (decision 00000001)\n  - before: Use Kafka (" in text
    assert "### Replaces" not in text and "cannot be read" not in text
    assert "\n".join(markdown(report | {"changed": []})).endswith("\n\nNothing.")
