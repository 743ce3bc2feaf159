"""Parse the commands in a line of shell code: their words, without quotes, and working directories.
Lists, pipes, groups, substitutions, redirections and here-documents are parsed as in a POSIX shell
and bash, as far as this is possible without running anything. The parser knows variables that the
line itself sets, `$HOME`, `$PWD`, and the output of `echo`, `printf` and `cat`; other variables
remain `$NAME`. Text in quotes, comments and here-documents is not a command.
"""

import os
from collections.abc import Sequence
from typing import NamedTuple

# Only this many characters of a line are read. A word that is cut off there matches no rule.
MAX_CHARS = 64 << 10
MAX_CALLS, MAX_DEPTH = 200, 6
# Maximum total length of inserted variables and command outputs; later ones count as unknown.
MAX_KNOWN_CHARS = 8 << 10
MAX_BRACED_CHARS = 300
_BREAKS = frozenset(";&|\n()")
_SPACE = frozenset(" \t\r")
# Words that may precede a command but are not part of it.
_KEYWORDS = frozenset("if then elif else while until do ! { } time fi done esac coproc".split())
# Keywords whose header (`for x in a b`) ends at the next separator and is not a command.
_HEADERS = frozenset("for select".split())
_SETTING = frozenset("export local declare readonly typeset".split())
_SPLIT = "\0"  # marks where the shell splits a word
UNKNOWN = "$"
# In `Call.after`: the command is in a substitution. Its output is used, its exit status is lost.
SUBSTITUTED = "$("
# Made-up file names with this prefix replace process substitutions, such as `<(ls)`.
_FILE = "/dev/fd/text-"
STDIN = "/dev/stdin"
SHELLS = frozenset("sh bash zsh dash ksh ash fish busybox".split())


class Call(NamedTuple):
    """A simple command: its words, and the folder in which it runs ('' if unknown)."""

    words: tuple[str, ...]
    folder: str
    written: tuple[str, ...] = ()  # files to which the output is redirected
    stdin: str = ""  # the command's input, or '' if unknown
    raw: tuple[str, ...] = ()  # words as in the line: with quotes, keywords, assignments, `< FILE`
    after: str = ""  # the separator that follows, such as `&&`, or SUBSTITUTED


class _Pending:
    def __init__(self) -> None:
        self.words: list[str] = []
        self.raw: list[str] = []
        self.written: list[str] = []
        self.stdin = self.folder = self.after = ""

    def call(self) -> Call:
        words, written = tuple(without_prefix(self.words)), tuple(self.written)
        return Call(words, self.folder, written, self.stdin, tuple(self.raw), self.after)


def calls_in(text: str, folder: str, depth: int = 0) -> list[Call]:
    """Return the simple commands of a line, which is itself nested in `depth` other commands."""
    return _Reader(text[:MAX_CHARS], folder, depth).calls()[:MAX_CALLS]


def plain_list(text: str) -> list[Call]:
    """Return the commands of a line, or [] if it is not a plain list of simple commands."""
    reader = _Reader(text[:MAX_CHARS], "", 0)
    calls = reader.calls()
    return [] if reader.is_script else calls


class _Reader:
    """A parser that reads one line in one pass, with another parser for each substitution."""

    def __init__(
        self, text: str, folder: str, depth: int, at: int = 0, known: dict[str, str] | None = None
    ) -> None:
        self.text, self.folder, self.depth, self.place = text, folder, depth, at
        self.found: list[Call | _Pending] = []
        # Here-documents to read at the next line break: (delimiter, command that gets the text).
        self.documents: list[tuple[str, _Pending]] = []
        self.folders: list[str] = []
        self.pushed: list[str] = []
        self.known = {"IFS": _SPLIT, "HOME": os.path.expanduser("~"), **(known or {})}
        self.is_inner = known is not None
        self.known_chars = 0
        self.in_case = 0
        self.is_script = False

    def calls(self) -> list[Call]:
        if self.depth > MAX_DEPTH:
            self.place = len(self.text)
            return []
        pending = _Pending()
        while self.place < len(self.text) and len(self.found) < MAX_CALLS:
            c = self.text[self.place]
            if c in _SPACE or self.text.startswith("\\\n", self.place):
                self.place += 2 if c == "\\" else 1
            elif c == "#":
                end = self.text.find("\n", self.place)
                self.place = len(self.text) if end < 0 else end
            elif self._redirects(c, pending):
                continue
            elif c == ")" and self.is_inner and not (self.folders or self.in_case):
                break
            elif c in _BREAKS:
                pending = self._broken(c, pending)
            else:
                self._add_word(pending)
                words = pending.words
                if len(words) >= 3 and words[0] == "case" and words[-1] == "in":
                    words.clear()
                    self.in_case += 1
                    self.is_script = True
                elif words == ["esac"]:
                    self.in_case = max(0, self.in_case - 1)
        self._end(pending, "")
        calls: list[Call] = []
        before: Call | None = None
        for item in self.found:
            call = item.call() if isinstance(item, _Pending) else item
            if isinstance(item, _Pending):
                if before and before.after in ("|", "|&") and not call.stdin:
                    call = call._replace(stdin=printed(before))
                before = call
            calls.append(call)
        return calls

    def _add_word(self, pending: _Pending) -> None:
        start = self.place
        word = self._word()
        if word.startswith(_FILE) and word in self.known:
            pending.stdin, word = self.known.pop(word), STDIN
        is_value = is_assignment(word) and not without_prefix(pending.words)
        if _SPLIT in word and is_value:
            pending.words.append(word.replace(_SPLIT, " "))
        elif _SPLIT in word:
            pending.words += filter(None, word.split(_SPLIT))
        else:
            pending.words.append(word)
        pending.raw.append(self.text[start : self.place])

    def _broken(self, c: str, pending: _Pending) -> _Pending:
        """End the command at the separator `c`; return a new, empty command for the words that
        follow. Parentheses also open and close groups. At a line break, here-documents are read.
        """
        if c == "(" and pending.words and self.text.startswith("()", self.place):
            self.place += 2  # skip the `()` of a function definition
            pending.words.clear()
            self.is_script = True
            return pending
        if c != ")" or not self.in_case or self.folders:  # the `)` of `case x in a)` ends nothing
            following = self.text[self.place + 1 : self.place + 2]
            is_double = c + following in ("&&", "||", "|&")
            self._end(pending, c + following if is_double else c)
            self.place += is_double
        self.place += 1
        self.is_script |= c in "()"
        if c == "(":
            self.folders.append(self.folder)
        elif c == ")" and self.folders:
            self.folder = self.folders.pop()
        elif c == "\n":
            self._read_documents()
        return _Pending()

    def _end(self, pending: _Pending, sign: str) -> None:
        words = pending.words
        self.is_script |= bool(words) and words[0] != "time" and words[0] in _KEYWORDS | _HEADERS
        if words[:1] == ["function"]:
            del words[:2]
        if words and words[0] in _HEADERS:
            if words[0] == "for" and words[2:3] == ["in"]:
                self.known[words[1]] = _SPLIT.join(words[3:])
            words.clear()
        words = without_prefix(words)
        if not words or words[0] in _SETTING:
            for word in pending.words:
                name, _, value = word.partition("=")
                if is_assignment(word):
                    self.known[name.removesuffix("+")] = value
        if not words and not pending.written:
            before = self.found[-1] if self.found else None
            if sign and sign[0] in "|&" and isinstance(before, _Pending):
                before.after = sign if before.after in ")\n;" else before.after  # `&&` in `(a)&&b`
            return
        pending.folder, pending.after = self.folder, sign
        self.found.append(pending)
        program = words[0] if words else ""
        if program == "popd":
            self.folder = self.pushed.pop() if self.pushed else ""
        elif program in ("cd", "pushd"):
            self.pushed += [self.folder] if program == "pushd" else []
            before_it = self.known.get("OLDPWD", "")
            self.known["OLDPWD"] = self.folder
            targets = [word for word in words[1:] if not word.startswith("-")]
            self.folder = path_in(self.folder, targets[0] if targets else "~")
            self.folder = before_it if "-" in words[1:] else self.folder

    def _redirects(self, c: str, pending: _Pending) -> bool:
        """Read a redirection and its file; return False if there is none at this position."""
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
            self.is_script = True
        elif operator == "<<<":
            pending.stdin = target.replace(_SPLIT, " ")
        elif operator == "<":
            pending.raw += ["<", target]
            pending.stdin = self.known.pop(target, "") if target.startswith(_FILE) else ""
        elif operator[0] == ">" and target and operator != ">&":
            pending.written.append(target)
        return True

    def _read_documents(self) -> None:
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
        """Read a word and remove its quotes; _SPLIT marks where the shell splits the word."""
        parts: list[str] = []
        braced = False
        while self.place < len(self.text):
            c = self.text[self.place]
            if c in _SPACE or c in _BREAKS or c in "<>":
                if not (c in "<>" and self.text[self.place + 1 : self.place + 2] == "("):
                    break
                self.place += 1
                name = f"{_FILE}{len(self.known)}"
                self.known[name] = self._substituted(")")
                parts.append(name)
            elif c == "\\":
                parts.append(self.text[self.place + 1 : self.place + 2].replace("\n", ""))
                self.place += 2
            elif c == "'":
                parts.append(self._quoted())
            elif c == '"':
                self.place += 1
                parts.append(self._double_quoted())
            else:
                braced |= c == "{"
                part = self._expanded()
                parts.append(part if len(part) < 2 else _SPLIT.join(part.split()))
        word = "".join(parts)
        if braced and "," in word and len(word) <= MAX_BRACED_CHARS:
            return _SPLIT.join(alternatives(word))
        return word

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
                after = self.text[self.place + 1 : self.place + 2]
                parts.append(after if after in '"\\$`' else "" if after == "\n" else c + after)
                self.place += 2
            else:
                parts.append(self._expanded())
        return "".join(parts)

    def _expanded(self) -> str:
        """Read a character or an expansion (`$NAME`); return its value, UNKNOWN if not known."""
        c = self.text[self.place]
        if c == "$":
            if self.text.startswith("$((", self.place):
                end = self.text.find("))", self.place)
                self.place = len(self.text) if end < 0 else end + 2
                return UNKNOWN
            self.place += 1
            following = self.text[self.place : self.place + 1]
            if following == "(":
                return self._substituted(")")
            if following == "'":
                return self._quoted()
            if following == '"':
                return ""
            if following == "{":
                end = self.text.find("}", self.place)
                end = len(self.text) if end < 0 else end
                name, _, otherwise = self.text[self.place + 1 : end].partition(":-")
                self.place = end + 1
                return self._value(name, otherwise)
            start = self.place
            while self.text[self.place : self.place + 1].replace("_", "a").isalnum():
                self.place += 1
                if self.text[start].isdigit():
                    break
            name = self.text[start : self.place]
            return self._value(name) if name else UNKNOWN
        if c == "`":
            return self._substituted("`")
        self.place += 1
        return c

    def _value(self, name: str, otherwise: str = "") -> str:
        """Return a variable's value or the default `otherwise`; if neither is known, `$NAME`."""
        value = self.folder if name == "PWD" else self.known.get(name, otherwise)
        self.known_chars += len(value)
        return value if value and self.known_chars <= MAX_KNOWN_CHARS else UNKNOWN + name

    def _substituted(self, close: str) -> str:
        """Read the substitution up to `close`; return its last command's output, or UNKNOWN."""
        self.is_script = True
        self.place += 1
        text, place = self.text, self.place
        if close == "`":
            end = text.find("`", place)
            text = text if end < 0 else text[:end]
        inner = _Reader(text, self.folder, self.depth + 1, place, self.known)
        calls = inner.calls()
        self.found += [call._replace(after=SUBSTITUTED) for call in calls]
        self.place = inner.place + 1
        output = printed(calls[-1]) if calls else ""
        self.known_chars += len(output)
        return output if output and self.known_chars <= MAX_KNOWN_CHARS else UNKNOWN


def printed(call: Call) -> str:
    """Return the text that a command certainly prints; '' if it is unknown."""
    words = call.words[1:]
    program = call.words[0] if call.words else ""
    if program == "echo":
        return " ".join(word for word in words if word not in ("-n", "-e", "-en", "-ne"))
    if program == "printf":
        text = " ".join(words)
        for sign, character in (("\\n", "\n"), ("\\0", "\n"), ("%s", " "), ("%b", " ")):
            text = text.replace(sign, character)
        return text.strip()
    if program in ("cat", "tee"):
        return call.stdin
    if program == "pwd":
        return call.folder
    if program == "which" or call.words[:2] == ("command", "-v"):
        return "".join(words[-1:])
    return " ".join(operands_of_find(call.words)) if program == "find" else ""


def operands_of_find(words: Sequence[str]) -> tuple[str, ...]:
    """Return `find`'s folders; `.` and `/` are replaced by its `-name` patterns, if it has any."""
    at = 1
    while at < len(words) and words[at][:1] not in ("-", "(", "!", ")"):
        at += 1
    folders = tuple(words[1:at]) or (".",)
    if "-empty" in words:
        return ()
    names = [
        name
        for before, option, name in zip(words, words[1:], words[2:], strict=False)
        if option in ("-name", "-iname", "-path") and before not in ("!", "-not")
    ]
    if not names:
        return folders
    return tuple(o for f in folders for o in (names if not f.strip("./") else [f]))


def alternatives(pattern: str) -> list[str]:
    """Return all patterns that a pattern with braces stands for, such as `x/{a,b}`."""
    start, end = pattern.find("{"), pattern.find("}")
    if not 0 <= start < end or pattern.count("{") > 3:
        return [pattern]
    heads = [pattern[:start] + part for part in pattern[start + 1 : end].split(",")]
    return [head + tail for head in heads for tail in alternatives(pattern[end + 1 :])]


def without_prefix(words: list[str]) -> list[str]:
    """Return a command's words without the keywords and assignments before the command."""
    at = 0
    while at < len(words) and (words[at] in _KEYWORDS or is_assignment(words[at])):
        at += 1
        while words[at - 1] == "time" and words[at : at + 1] in (["-p"], ["--"]):
            words = [*words[:at], *words[at + 1 :]]
    return words[at:]


def is_assignment(word: str) -> bool:
    """Return True if a word has the form `NAME=value`."""
    name, sign, _ = word.partition("=")
    return bool(sign) and name.removesuffix("+").isidentifier()


def path_in(folder: str, path: str) -> str:
    """Return the absolute path of `path` in a folder, without `..`; '' if the folder is unknown."""
    if not path or UNKNOWN in path or "\0" in path:
        return ""
    path = os.path.expanduser(path) if path.startswith("~") else path
    if os.path.isabs(path):
        return os.path.normpath(path)
    return os.path.normpath(os.path.join(folder, path)) if folder else ""
