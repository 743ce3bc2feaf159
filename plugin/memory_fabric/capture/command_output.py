"""The outcome of a command by its output, and the line that states the error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory_fabric.patterns import pattern
from memory_fabric.text import one_line, words

# The ends of an output tell the outcome; the middle is mostly repetition.
MAX_HEAD_CHARS, MAX_TAIL_CHARS = 32 << 10, 32 << 10
MAX_LINE_CHARS = 2000
# The client's own messages, not those of a command: refused, interrupted, cut off.
NOT_ITS_FAULT = (
    "[Request interrupted",
    "The user doesn't want to",
    "The user wants to",
    "User rejected",
    "User declined",
    "Permission to use",
    "Permission for this",
    "Claude requested permissions",
    "This command requires approval",
    "<tool_use_error>",
    "Command timed out",
    "Command was aborted",
    "Request was aborted",
    "Tool use was cancelled",
    "Hook PreToolUse",
    "PreToolUse:",
    "Blocked by hook",
)
# Ended by a signal, or never started: 124 timed out, 126 not allowed, 127 not found, 130 Ctrl-C …
_OUTSIDE_STATUS = frozenset("124 126 127 129 130 137 141 143 255".split())
_STATUS = "Exit code "
# Phrases of a run's report: something failed, or everything passed.
_FAILED = (
    r"\b[1-9]\d{0,6} (?:tests? |examples? )?(?:failed|failures?|failing|errors?)\b"
    r"|^FAILED\b|\bBUILD FAILED\b|^npm (?:ERR!|error)|^make: \*\*\*|^Traceback \(most|^--- FAIL:"
    r"|^error(?:\[|:)|: error\b|\bFAILURES!|test result: FAILED|^FAIL\b|^Failed to compile"
    r"|^\*\* \(\w+Error\)|^== Compilation error"
)
_PASSED = (
    r"\b[1-9]\d{0,6} (?:tests? |examples? )?pass(?:ed|ing)\b|^OK\b|\b0 (?:failures|errors|failed)\b"
    r"|\bBUILD SUCCESS|^Success: no issues|^All checks passed|test result: ok|^ok\s+\S"
)
# In the order of search; the flag means that the last match counts.
_TELLING = (
    (r"^E {2,}(?=\S)(?!assert\b.{0,80}$)", False),
    (r"^E {2,}(?=\S)", False),
    (r"\berror(?:\[\w+\]|\s[A-Z]{1,5}\d+):|^\*\* \(\w+Error\)", False),
    (r"^(?:Uncaught |Unhandled )?(?:\w+\.){0,8}\w*(?:Error|Exception|Interrupt|Fault)\b"
     r"(?: \[\w+\])?:\s*\S", True),
    (r"\berror:\s*\S|^\s*Error:", False),
    (r"^npm (?:ERR!|error) ", False),
    (r"^(?:panic|fatal|FATAL|thread '.{0,80}' panicked)\b", False),
    (r"\bHTTP(?:/[\d.]+)?(?: status)?:? [45]\d\d\b|^(?:status|code):? [45]\d\d\b", False),
    (r"^\s*(?:--- FAIL|not ok|FAIL(?:ED)?)\b", False),
    (r"\b(?:error|Error|ERROR|cannot|Cannot|undefined|not found)\b", False),
)  # fmt: skip
# Lines that say that something failed, but not what.
_EMPTY_WORDS = (
    r"^Exit code \d+$|^[=\-_*~#.\s]+$|^=+ .{0,200} =+$"
    r"|^npm (?:ERR!|error)(?:$| (?:A complete log|code |errno |path |workspace |location |command "
    r"|signal |syscall |Lifecycle script |Exit status |This is probably|To see a list|notarget In "
    r"most|notarget a package|\s|at |Node\.js v))"
    r"|^make(?:\[\d+\])?: |^\d+ (?:failed|passed|errors?)\b|^Found \d+ error|^error Command failed"
    r"|^Process (?:completed|exited)|^The command |^(?:Error: )?Command failed|^Traceback \("
    r"|\b(?:exited with|exit(?:ed)?|with exit) (?:code|status) \d+|^error: could not compile\b"
    r"|^error: aborting due|^ELIFECYCLE\b|^\s*\u2009?ELIFECYCLE|^[✖×✗] \d+ problems?\b|"
    r"^Failed to compile"
    r"|^FAIL(?:ED)?:? \S{1,200}$|^Lifecycle script\b|^error: script \"|^[\s✖×✗●>]*(?:/|\.{1,2}/|"
    r"[A-Za-z]:\\|~/)\S*$"
)
# Words that every failure has, and names of what was run.
_COMMON = frozenset(
    """a an and any are assert assertion assertionerror at be because been build by call can cannot
    check code command compilation compile could details did do due during error errors exception
    exit exited fail failed failing fails failure failures file files for found from get got has
    have in info is it job last lifecycle line log main make more most no node not npm of on one
    or out output please pnpm previous process program ran recent reason result results run running
    script see some status step stopped suite suites task test tests that the there this to total
    traceback try unknown use warning was were with yarn you expected received""".split()
)
_NAMED = r"['\"`‘“][^'\"`’”\s][^'\"`’”]{0,80}['\"`’”]|\b[A-Z]{1,5}\d{2,5}\b|\b[45]\d\d\b"
_ASSERTION = r"(?i:\bassert(?:ion)?(?:error)?)\b\W{1,4}\w{1,40}\W.{0,80}\w"
_PATHS = r"(?:[\w.@~-]*[/\\])+[\w.@-]+|\b[\w-]+\.[a-z]{1,4}\b|\(\d+,\d+\)|:\d+\b"
_COLOURS = r"\x1b\[[0-9;]{0,16}[A-Za-z]"


def is_no_failure(output: str) -> bool:
    """Return True if an error result is not about what the command does."""
    head = output.lstrip().removeprefix("Error: ").lstrip()
    if head.startswith(NOT_ITS_FAULT) or "Command timed out after" in head[:2000]:
        return True
    if head.startswith(_STATUS):
        return head[len(_STATUS) :].split(None, 1)[:1] != [] and (
            head[len(_STATUS) :].split(None, 1)[0] in _OUTSIDE_STATUS
        )
    return "has been denied" in head[:300] or "interrupted by user" in head[:300]


def outcome(output: str) -> bool | None:
    """Return True if a report says that all passed, False if not; None if that is uncertain."""
    lines = _lines(output)
    if any(_pattern(_FAILED).search(line) for line in lines):
        return False
    return True if any(_pattern(_PASSED).search(line) for line in lines) else None


def telling_line(output: str) -> str:
    """Return the line of an output that best states the error, without its marker; or ''.

    The assertion or exception of a test, the first error of a compiler; else the last line with
    words.
    """
    lines = _lines_with_words(output)
    return _stated_line(lines, _TELLING) or (_plain(lines[-1]) if lines else "")


def pasted_error(text: str) -> str:
    """Return the error line that a user pasted into a prompt, if it says what failed; or ''."""
    line = _stated_line(_lines_with_words(text), _TELLING[:-1])  # the last are words of prose, too
    return line if is_specific(line) else ""


def signature(output: str) -> str:
    """Return the telling line if it says what failed; '' if it only says that something did.

    "Lifecycle script `build` failed", "exit code 1", a path or a progress line say nothing.
    """
    line = telling_line(output)
    return line if is_specific(line) or _pattern(_ASSERTION).search(line) else ""


def is_specific(line: str) -> bool:
    """Return True if an error line has two words that most errors have not, or a word and a name.

    A quoted name, a file, an error's number or an HTTP status is a name.
    """
    bare = _pattern(_PATHS).sub(" ", line)
    own = {word for word in words(bare) if word not in _COMMON and not word.isdigit()}
    own = {word for word in own if len(word) > 1 or not word.isascii()}
    named = bare != line or _pattern(_NAMED).search(line) is not None
    return len(own) > 1 or (bool(own) and named)


def _lines_with_words(output: str) -> list[str]:
    return [line for line in _lines(output) if not _pattern(_EMPTY_WORDS).match(line.strip())]


def _stated_line(lines: Sequence[str], expressions: Iterable[tuple[str, bool]]) -> str:
    for expression, last in expressions:
        for place in reversed(range(len(lines))) if last else range(len(lines)):
            if _pattern(expression).search(lines[place]):
                # "Error:" alone names the next line.
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
    if "\x1b" in output:
        output = _pattern(_COLOURS).sub("", output)
    return [line[:MAX_LINE_CHARS].rstrip() for line in output.splitlines() if line.strip()]


def _pattern(expression: str) -> re.Pattern[str]:
    return pattern(expression, 0)
