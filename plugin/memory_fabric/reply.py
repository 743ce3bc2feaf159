"""What goes out: one JSON object on stdout, or nothing, within the client's rules for each event.

`additionalContext` is read by the model, `systemMessage` by the person, as measured on the client.
It drops what breaks a rule without a word, so the rules stand here.
"""

from __future__ import annotations

from memory_fabric import jsontext
from memory_fabric.text import CLOSE_FENCE, OPEN_FENCE, encodable
from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Where context reaches the model without making a turn go on. Stop and SubagentStop would.
CONTEXT_EVENTS = frozenset(
    ("SessionStart", "UserPromptSubmit", "UserPromptExpansion", "SubagentStart")
)
# Where a notice reaches the person only. What PreCompact and PostCompact print reaches the
# summariser, and nobody sees what SessionEnd prints: they stay silent, as does all we do not know.
NOTICE_EVENTS = CONTEXT_EVENTS | {"PreToolUse", "PostToolUse", "Stop", "SubagentStop"}

# Above 10,000 the client replaces a value by a path and a preview. It counts as JavaScript does,
# in UTF-16 units, of which a character outside the basic plane has two.
MAX_UNITS = 9_900
CUT_NOTE = "\n… (cut: too long for one hook)"


class Reply(Value):
    """What a handler wants said: `context` to the model, `notice` to the person.

    `receipts` run after the output was written: a ledger must not claim what nobody received.
    """

    context: str = ""
    notice: str = ""
    receipts: tuple[Callable[[], None], ...] = ()


def merge(replies: Sequence[Reply]) -> Reply:
    """All replies as one: contexts a blank line apart, notices on one line, all receipts."""
    return Reply(
        context="\n\n".join(r.context for r in replies if r.context),
        notice=" · ".join(r.notice for r in replies if r.notice),
        receipts=tuple(receipt for r in replies for receipt in r.receipts),
    )


def encode(event_name: str, reply: Reply) -> bytes:
    """The bytes for stdout: one JSON object in ASCII, or nothing where nothing is to be said."""
    output: dict[str, object] = {}
    if event_name in NOTICE_EVENTS and reply.notice.strip():
        output["systemMessage"] = fitted(reply.notice)
    if event_name in CONTEXT_EVENTS and reply.context.strip():
        output["hookSpecificOutput"] = {
            "hookEventName": event_name,
            "additionalContext": fitted(reply.context),
        }
    return jsontext.dumps(output).encode("ascii") if output else b""


def fitted(text: str) -> str:
    """The text as the client shows it whole: at most MAX_UNITS, an open fence closed again."""
    text = encodable(text)
    if len(text) * 2 <= MAX_UNITS:
        return text
    units = text.encode("utf-16-le")
    if len(units) <= MAX_UNITS * 2:
        return text
    ending = CUT_NOTE + "\n" + CLOSE_FENCE
    head = units[: (MAX_UNITS - len(ending)) * 2].decode("utf-16-le", "ignore")
    if head.count(OPEN_FENCE) > head.count(CLOSE_FENCE):
        return head + ending
    return head + CUT_NOTE
