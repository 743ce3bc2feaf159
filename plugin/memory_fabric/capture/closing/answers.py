"""Which open points a new record settles: questions that it answers, problems that it solves.

Precision first, as in `supersede`: an answer speaks of everything that the question names, a
solution of the same failing command or of nearly all words of the problem.
"""

from __future__ import annotations

from memory_fabric.capture.closing.statements import is_settled
from memory_fabric.capture.closing.wording import content_stems
from memory_fabric.language.concepts import stems_of
from memory_fabric.models import STORED_FROM, may_close

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.models import Record

OPEN_TYPES = ("question", "blocker", "problem")
ANSWERING = frozenset("decision constraint preference solution note".split())
SOLVING = frozenset(("solution",))
# Also a decision or a note lifts a blocker, where it says so.
RESOLVED = frozenset(
    "resolved fixed solved unblocked lifted granted arrived restored available done".split()
)
MIN_WORDS, MIN_PROBLEM_WORDS, MOST_WORDS = 2, 3, 0.75
_BLOCKING = frozenset("block blocked blocker blocking waiting wait pending until before".split())


def settles(new: Record, points: Sequence[Record]) -> list[Record]:
    """Those of the open questions, blockers and problems that the new record settles."""
    if new.type not in ANSWERING or new.confidence < STORED_FROM or not is_settled(new.what):
        return []
    return [
        point
        for point in points
        if point.id != new.id and may_close(new, point) and _settles(new, point)
    ]


def _settles(new: Record, point: Record) -> bool:
    if point.type == "question":
        return _answers(new, point)
    if point.type not in OPEN_TYPES:
        return False
    if new.type in SOLVING and _same_incident(new, point):
        return True
    lifts = bool(RESOLVED & {*new.what.lower().split()}) and point.type == "blocker"
    return (new.type in SOLVING or lifts) and _says_most_of(new, point)


def _answers(new: Record, question: Record) -> bool:
    """Whether everything that the question names is spoken of; of choices one is enough."""
    said = stems_of(f"{new.what} {new.why}")
    choices = _choices(question.what)
    asked = content_stems(question.what) - {stem for choice in choices for stem in choice}
    if choices and not any(choice <= said for choice in choices):
        return False
    return len(asked) + bool(choices) >= MIN_WORDS and asked <= said


def _choices(question: str) -> list[frozenset[str]]:
    """The sides of an "X or Y": the one content word before it and the one behind it."""
    before, found, after = question.partition(" or ")
    if not found:
        return []
    sides = [
        content_stems(" ".join(before.split()[-1:])),
        content_stems(" ".join(after.split()[:1])),
    ]
    return sides if all(sides) else []


def _same_incident(new: Record, problem: Record) -> bool:
    command = problem.evidence.get("command")
    return bool(command) and new.evidence.get("command") == command


def _says_most_of(new: Record, point: Record) -> bool:
    about = content_stems(point.what) - {*map(str, content_stems(" ".join(_BLOCKING)))}
    if len(about) < MIN_PROBLEM_WORDS:
        return False
    shared = about & stems_of(f"{new.what} {new.why}")
    return len(shared) >= MIN_PROBLEM_WORDS and len(shared) >= MOST_WORDS * len(about)
