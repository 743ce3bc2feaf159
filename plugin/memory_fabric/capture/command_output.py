"""The outcome of a command, judged by its output, and the output line that describes the error."""

from collections.abc import Iterable, Sequence

from memory_fabric.language.word_lists import either, sections
from memory_fabric.language.word_lists import words as listed
from memory_fabric.patterns import exact
from memory_fabric.text import one_line, words

# Only the start and the end of an output are searched; the middle is mostly repetition.
MAX_HEAD_CHARS, MAX_TAIL_CHARS = 32 << 10, 32 << 10
MAX_LINE_CHARS = 2000
# Messages of the client about a call that was refused, interrupted or cancelled.
NOT_ITS_FAULT = sections("command_output")["not its fault"]
# Exit statuses of commands that were killed or not started (124: timed out, 126: not allowed, …).
_OUTSIDE_STATUS = frozenset("124 126 127 129 130 137 141 143 255".split())
_STATUS = "Exit code "
# Expressions for error lines, best first, each with the match to use: `first` or `last`.
_TELLING = tuple(tuple(row.split("\t")) for row in sections("command_output")["telling"])
# Words that occur in most error messages, and the names of tools.
_COMMON = listed("command_output", "common")
_NAMED = r"['\"`‘“][^'\"`’”\s][^'\"`’”]{0,80}['\"`’”]|\b[A-Z]{1,5}\d{2,5}\b|\b[45]\d\d\b"
_ASSERTION = r"(?i:\bassert(?:ion)?(?:error)?)\b\W{1,4}\w{1,40}\W.{0,80}\w"
_PATHS = r"(?:[\w.@~-]*[/\\])+[\w.@-]+|\b[\w-]+\.[a-z]{1,4}\b|\(\d+,\d+\)|:\d+\b"
_COLOURS = r"\x1b\[[0-9;]{0,16}[A-Za-z]"


def is_no_failure(output: str) -> bool:
    """Return True if an error result means that the command was refused, stopped or not started."""
    head = output.lstrip().removeprefix("Error: ").lstrip()
    if head.startswith(NOT_ITS_FAULT) or "Command timed out after" in head[:2000]:
        return True
    if head.startswith(_STATUS):
        return not _OUTSIDE_STATUS.isdisjoint(head[len(_STATUS) :].split(None, 1)[:1])
    return "has been denied" in head[:300] or "interrupted by user" in head[:300]


def outcome(output: str) -> bool | None:
    """Return True if the output reports success, False if it reports a failure, else None."""
    lines = _lines(output)
    for name, verdict in (("failed", False), ("passed", True)):
        if any(map(exact(either("command_output", name)).search, lines)):
            return verdict
    return None


def telling_line(output: str) -> str:
    """Return the output line that best describes the error, without a prefix like `npm ERR!`."""
    lines = _lines_with_words(output)
    return _stated_line(lines, _TELLING) or (_plain(lines[-1]) if lines else "")


def pasted_error(text: str) -> str:
    """Return the error line of output pasted into a prompt; '' if no line describes an error."""
    line = _stated_line(_lines_with_words(text), _TELLING[:-1])  # `_TELLING[-1]` matches prose too
    return line if is_specific(line) else ""


def signature(output: str) -> str:
    """Return the line that describes the error; '' if the line is not specific enough."""
    line = telling_line(output)
    return line if is_specific(line) or exact(_ASSERTION).search(line) else ""


def is_specific(line: str) -> bool:
    """Return True if a line has two uncommon words, or one together with a name, file or number."""
    bare = exact(_PATHS).sub(" ", line)
    own = {word for word in words(bare) if word not in _COMMON and not word.isdigit()}
    own = {word for word in own if len(word) > 1 or not word.isascii()}
    return len(own) > 1 or (bool(own) and (bare != line or bool(exact(_NAMED).search(line))))


def _lines_with_words(output: str) -> list[str]:
    empty = exact(either("command_output", "empty words"))
    return [line for line in _lines(output) if not empty.match(line.strip())]


def _stated_line(lines: Sequence[str], expressions: Iterable[Sequence[str]]) -> str:
    for order, expression in expressions:
        for place in reversed(range(len(lines))) if order == "last" else range(len(lines)):
            if exact(expression).search(lines[place]):
                # If a line consists only of "Error:", the next line contains the message.
                is_head = lines[place].strip() in ("Error:", "error:") and place + 1 < len(lines)
                return _plain(lines[place + 1] if is_head else lines[place])
    return ""


def _plain(line: str) -> str:
    for lead in ("E  ", "npm ERR! ", "npm error ", "notarget "):
        line = line.removeprefix(lead)
    return one_line(line)


def _lines(output: str) -> list[str]:
    if len(output) > MAX_HEAD_CHARS + MAX_TAIL_CHARS:
        output = f"{output[:MAX_HEAD_CHARS]}\n{output[-MAX_TAIL_CHARS:]}"
    output = exact(_COLOURS).sub("", output) if "\x1b" in output else output
    return [line[:MAX_LINE_CHARS].rstrip() for line in output.splitlines() if line.strip()]
