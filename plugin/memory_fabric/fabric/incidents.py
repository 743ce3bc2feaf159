"""Problems solved on the way: a command that failed, a change, and the command that passed."""

from __future__ import annotations

from memory_fabric.fabric.confidence import BASE
from memory_fabric.models import Record
from memory_fabric.text import cut, one_line
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_COMMAND_CHARS = 200
MAX_ERROR_CHARS = 300
MAX_FILES_NAMED = 5


class Step(Value):
    """One thing done: a command with its outcome, or a changed file."""

    command: str = ""
    failed: bool = False
    output: str = ""
    changed_file: str = ""
    place: str = ""


def solved(steps: Sequence[Step]) -> list[Record]:
    """A solution for each command that failed and, after a change of files, passed.

    `evidence` holds the command, its last error, and the files changed in between.
    """
    failing: dict[str, Step] = {}
    changed: dict[str, list[str]] = {}
    found = []
    for step in steps:
        if step.changed_file:
            for files in changed.values():
                files.append(step.changed_file)
        elif step.failed and step.command:
            failing[step.command] = step
            changed.setdefault(step.command, [])
        elif step.command in failing:
            files = list(dict.fromkeys(changed.pop(step.command)))
            problem = failing.pop(step.command)
            if files:
                found.append(_solution(problem, files))
    return found


def _solution(problem: Step, files: list[str]) -> Record:
    command = cut(one_line(problem.command), MAX_COMMAND_CHARS)
    error = cut(_last_words(problem.output), MAX_ERROR_CHARS)
    names = ", ".join(files[:MAX_FILES_NAMED])
    what = f"`{command}` failed"
    return Record(
        type="solution",
        what=f"{what} ({error}); it passed after changing {names}" if error else what,
        outcome="success",
        confidence=BASE,
        evidence={"command": command, "error": error, "files": files},
    )


def _last_words(output: str) -> str:
    lines = [one_line(line) for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else ""
