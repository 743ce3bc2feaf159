"""The commands that a line for the shell runs, with their words unquoted and their folders.

Reads lists, pipes, groups, substitutions, redirections and here-documents as a POSIX shell and bash
do, as far as that is known without running anything: a word with a variable keeps its `$`, and what
only stands in quotes, comments and here-documents is no command.
"""

from __future__ import annotations

import os

from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# A longer line is read up to here; the rest of a cut word matches nothing.
MAX_CHARS = 64 << 10
MAX_CALLS = 200
MAX_DEPTH = 6
_BREAKS = frozenset(";&|\n()")
_SPACE = frozenset(" \t\r")
# Words before a command that are not part of it.
_KEYWORDS = frozenset("if then elif else while until do ! { } time fi done esac coproc".split())
# A header without a command up to the next separator.
_HEADERS = frozenset("for select function".split())
SHELLS = frozenset("sh bash zsh dash ksh ash fish busybox".split())


class Call(Value):
    """One simple command: its words, the folder in which it runs, and files that it redirects to.

    `folder` is '' if it cannot be known. `stdin` is the text of its here-document.
    """

    words: tuple[str, ...]
    folder: str
    written: tuple[str, ...] = ()
    stdin: str = ""


class _Pending:
    """The words of the command that is being read."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.written: list[str] = []
        self.stdin = ""

    def call(self, folder: str) -> Call | None:
        words = _without_prefix(self.words)
        call = Call(tuple(words), folder, tuple(self.written), self.stdin)
        return call if call.words or call.written else None


def calls_in(text: str, folder: str) -> list[Call]:
    """Return the simple commands of a line that starts in a folder, in order; at most MAX_CALLS."""
    return _Reader(text[:MAX_CHARS], folder, 0).calls()[:MAX_CALLS]


class _Reader:
    """One pass over a line; substitutions are read by further readers."""

    def __init__(self, text: str, folder: str, depth: int) -> None:
        self.text, self.folder, self.depth = text, folder, depth
        self.place = 0
        self.found: list[Call] = []
        # Delimiters of here-documents that follow the next line break, and their commands' place.
        self.documents: list[tuple[str, _Pending]] = []
        self.folders: list[str] = []
        self.in_case = 0

    def calls(self) -> list[Call]:
        if self.depth > MAX_DEPTH:
            return []
        pending = _Pending()
        while self.place < len(self.text) and len(self.found) < MAX_CALLS:
            c = self.text[self.place]
            if c in _SPACE or self.text.startswith("\\\n", self.place):
                self.place += 2 if c == "\\" else 1
            elif c == "#":
                self._skip_to("\n")
            elif self._redirects(c, pending):
                continue
            elif c in _BREAKS:
                pending = self._broken(c, pending)
            else:
                pending.words.append(self._word())
                self._note_case(pending)
        self._end(pending)
        return self.found

    def _broken(self, c: str, pending: _Pending) -> _Pending:
        """End the command at a separator, and follow groups and here-documents."""
        if c == "(" and pending.words and self.text.startswith("()", self.place):
            self.place += 2  # the head of a function
            pending.words.clear()
            return pending
        waits = self.documents and self.documents[-1][1] is pending
        if c == ")" and self.in_case and not self.folders:
            pending.words.clear()  # a pattern of `case`
        elif not waits or c != "\n":
            self._end(pending)
        self.place += 1
        if c == "(":
            self.folders.append(self.folder)
        elif c == ")" and self.folders:
            self.folder = self.folders.pop()
        elif c == "\n":
            self._read_documents()
            if waits:
                self._end(pending)
        return _Pending()

    def _end(self, pending: _Pending) -> None:
        if pending.words and pending.words[0] in _HEADERS:
            pending.words.clear()
        call = pending.call(self.folder)
        if call is None:
            return
        self.found.append(call)
        if call.words and call.words[0] in ("cd", "pushd"):
            self.folder = _changed(self.folder, call.words)

    def _note_case(self, pending: _Pending) -> None:
        """Drop the head of `case word in`, and the patterns after it."""
        words = pending.words
        if len(words) >= 3 and words[0] == "case" and words[-1] == "in":
            words.clear()
            self.in_case += 1
        elif words == ["esac"]:
            self.in_case = max(0, self.in_case - 1)

    def _redirects(self, c: str, pending: _Pending) -> bool:
        """Read a redirection, if there is one here; its file is no word of the command."""
        start = self.place
        if c.isdigit() and self.text[start + 1 : start + 2] in ("<", ">"):
            before = self.text[start - 1 : start]
            if before and before not in " \t\n;&|(":
                return False
            start += 1
        if self.text.startswith("&>", start):
            start += 1
        sign = self.text[start : start + 1]
        if sign not in ("<", ">") or self.text.startswith(("<(", ">("), start):
            return False
        for operator in ("<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">"):
            if self.text.startswith(operator, start):
                break
        self.place = start + len(operator)
        while self.text[self.place : self.place + 1] in (" ", "\t"):
            self.place += 1
        target = self._word() if self.text[self.place : self.place + 1] not in "\n;|)" else ""
        if operator in ("<<", "<<-"):
            self.documents.append((target, pending))
        elif operator == "<<<":
            pending.stdin = target
        elif operator[0] == ">" and target and operator != ">&":
            pending.written.append(target)
        return True

    def _read_documents(self) -> None:
        """Skip the texts of here-documents; a shell's own is read as commands later."""
        for delimiter, pending in self.documents:
            lines: list[str] = []
            while self.place < len(self.text):
                end = self.text.find("\n", self.place)
                end = len(self.text) if end < 0 else end
                line = self.text[self.place : end]
                self.place = end + 1
                if line.strip("\t ") == delimiter:
                    break
                lines.append(line)
            pending.stdin = "\n".join(lines)
        self.documents.clear()

    def _word(self) -> str:
        """Read one word without its quotes; substitutions in it are read as commands."""
        parts: list[str] = []
        while self.place < len(self.text):
            c = self.text[self.place]
            if c in _SPACE or c in _BREAKS or c in "<>":
                if not (c in "<>" and self.text[self.place + 1 : self.place + 2] == "("):
                    break
                self.place += 1
                self._substituted(")")
                parts.append("$")
            elif c == "\\":
                parts.append(self.text[self.place + 1 : self.place + 2].replace("\n", ""))
                self.place += 2
            elif c == "'":
                parts.append(self._quoted())
            elif c == '"':
                self.place += 1
                parts.append(self._double_quoted())
            else:
                parts.append(self._expanded())
        return "".join(parts)

    def _quoted(self) -> str:
        end = self.text.find("'", self.place + 1)
        end = len(self.text) if end < 0 else end
        inner = self.text[self.place + 1 : end]
        self.place = end + 1
        return inner

    def _double_quoted(self) -> str:
        parts: list[str] = []
        while self.place < len(self.text):
            c = self.text[self.place]
            if c == '"':
                self.place += 1
                break
            if c == "\\":
                escaped = self.text[self.place + 1 : self.place + 2]
                parts.append(
                    escaped if escaped in '"\\$`' else "" if escaped == "\n" else c + escaped
                )
                self.place += 2
            else:
                parts.append(self._expanded())
        return "".join(parts)

    def _expanded(self) -> str:
        """Read an expansion, which becomes `$`, or one character."""
        c = self.text[self.place]
        if c == "$":
            return self._dollar()
        if c == "`":
            self._substituted("`")
            return "$"
        self.place += 1
        return c

    def _dollar(self) -> str:
        """Read `$name`, `$(…)`, `$((…))`, `${…}` and `$'…'`."""
        if self.text.startswith("$((", self.place):
            end = self.text.find("))", self.place)
            self.place = len(self.text) if end < 0 else end + 2
            return "$"
        if self.text.startswith("$(", self.place):
            self.place += 1
            self._substituted(")")
            return "$"
        if self.text.startswith("${", self.place):
            end = self.text.find("}", self.place)
            self.place = len(self.text) if end < 0 else end + 1
            return "$"
        if self.text.startswith("$'", self.place):
            self.place += 1
            return self._quoted()
        self.place += 1
        return "$"

    def _substituted(self, close: str) -> None:
        """Read the commands of a substitution that opens here, up to its closing sign."""
        self.place += 1
        end = _closing(self.text, self.place) if close == ")" else self._backtick()
        inner = _Reader(self.text[self.place : end], self.folder, self.depth + 1)
        self.found += inner.calls()
        self.place = end + 1

    def _backtick(self) -> int:
        end = self.text.find("`", self.place)
        return len(self.text) if end < 0 else end

    def _skip_to(self, sign: str) -> None:
        end = self.text.find(sign, self.place)
        self.place = len(self.text) if end < 0 else end


def _closing(text: str, place: int) -> int:
    """Return the place of the parenthesis that closes the one before `place`."""
    depth, quote = 1, ""
    while place < len(text):
        c = text[place]
        if c == "\\" and quote != "'":
            place += 2
            continue
        if quote:
            if c == quote:
                quote = ""
            elif quote == '"' and text.startswith("$(", place):
                place = _closing(text, place + 2)
        elif c in "'\"":
            quote = c
        elif text.startswith("<<", place) and not text.startswith("<<<", place):
            place = _after_document(text, place)
            continue
        elif c in "()":
            depth += 1 if c == "(" else -1
            if not depth:
                return place
        place += 1
    return len(text)


def _after_document(text: str, place: int) -> int:
    """Return the place after a here-document whose operator is at `place`."""
    line_end = text.find("\n", place)
    if line_end < 0:
        return place + 2
    named = text[place + 2 : line_end].lstrip("-").strip()
    delimiter = ""
    for c in named:
        if c in " \t;&|)<>":
            break
        delimiter += c
    delimiter = delimiter.strip("'\"\\")
    at = line_end + 1
    while delimiter and at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if text[at:end].strip() == delimiter:
            return end
        at = end + 1
    return place + 2


def _without_prefix(words: list[str]) -> list[str]:
    """Return a command's words without keywords and assignments before it."""
    at = 0
    while at < len(words) and (words[at] in _KEYWORDS or is_assignment(words[at])):
        at += 1
    return words[at:]


def is_assignment(word: str) -> bool:
    """Return True for `NAME=value`."""
    name, sign, _ = word.partition("=")
    name = name.removesuffix("+")
    return bool(sign) and name.isidentifier()


def _changed(folder: str, words: tuple[str, ...]) -> str:
    """Return the folder after `cd`; '' if it depends on something unknown."""
    targets = [word for word in words[1:] if not word.startswith("-") or word == "-"]
    target = targets[0] if targets else "~"
    if "$" in target or target == "-":
        return ""
    if target.startswith("/"):
        return os.path.normpath(target)
    if target.startswith("~"):
        return os.path.expanduser(target)
    return os.path.normpath(os.path.join(folder, target)) if folder else ""


def nested(text: str, folder: str) -> Iterator[Call]:
    """Yield the commands of a text that another command runs, as `sh -c` does."""
    yield from _Reader(text[:MAX_CHARS], folder, 1).calls()[:MAX_CALLS]
