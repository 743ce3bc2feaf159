"""Paths: match glob patterns as in .gitignore, and find the files that a command evidently changes.
`*` and `?` match characters within one part of a path; `**` matches any number of parts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from memory_fabric.patterns import exact
from memory_fabric.rules import programs, shell
from memory_fabric.rules.shell import Call

# Programs that remove or change the files they are given, or copy these to their last argument.
REMOVERS = frozenset("rm rmdir unlink shred trash trash-put".split())
_CHANGERS = frozenset("tee touch truncate sponge patch ed ex gzip gunzip bzip2 xz unxz".split())
_COPIERS = frozenset("cp mv install ln rsync scp".split())
IN_PLACE = {words[0]: marks for words, marks in programs.options_in("formatters").items()}
_READING = frozenset("--dry-run --check --check-only --diff --help --version".split())
# Commands of package managers that change package.json if a package is given.
_OF_MANIFEST = frozenset("add i install remove rm uninstall un version pkg".split())
_ELSEWHERE = frozenset("-g --global --no-save get".split())
# The option for a program's output file: its letter and its long form.
_OUTPUTS = {
    "curl": ("o", "--output"), "wget": ("O", "--output-document"), "sort": ("o", "--output"),
    "pandoc": ("o", "--output"), "gcc": ("o", ""), "cc": ("o", ""), "patch": ("o", "--output"),
    "unzip": ("d", ""),
}  # fmt: skip
# Letters of options whose value is the rest of the word: in `-Hfoo`, the value of `-H` is `foo`.
_WITH_VALUE = frozenset("XHdueAbF")
_GIT = frozenset("rm mv restore checkout clean".split())


def of_call(call: Call) -> Iterator[str]:
    """Yield the paths that a command changes; a final `/` marks a folder with all its contents."""
    yield from call.written
    if not call.words or not _READING.isdisjoint(call.words):
        return
    program, plain = call.words[0], programs.plain_words(call.words)[1:]
    if program in REMOVERS or (program == "find" and "-delete" in call.words):
        paths = plain if program != "find" else shell.operands_of_find(call.words)
        yield from (f"{path}/" for path in paths)
    elif program in _COPIERS:
        yield from _copied(call.words, plain)
    elif program in _CHANGERS:
        yield from plain
    elif program in ("sed", "gsed", "perl", "ruby") and any(
        # also `perl -pi -e` and `sed -Ei.bak`
        map(exact(r"--in-place|-(?!-)[^efM]*i").match, call.words)
    ):
        yield from plain[1:] or plain
    elif program in ("awk", "gawk") and plain[:1] == ("inplace",):
        yield from plain[2:]
    elif not IN_PLACE.get(program, frozenset()).isdisjoint(call.words):
        yield from (f"{path}/" for path in plain)
    elif program == "tar" and any(w[:2] != "--" and "x" in w for w in call.words[1:2]):
        yield from _values(call.words, "C", "--directory")
    elif program in programs.MANAGERS and plain[1:] and plain[0] in _OF_MANIFEST:
        yield from ("package.json",) if _ELSEWHERE.isdisjoint(call.words) else ()
    elif program == "dd":
        yield from (word[3:] for word in plain if word.startswith("of="))
    elif program == "git" and plain[:1] and plain[0] in _GIT:
        yield from _of_git(call.words, plain)
    if program in _OUTPUTS:
        yield from _values(call.words, *_OUTPUTS[program])
        yield from _downloaded(program, call.words, plain)
    if (program == "patch" or plain[:1] == ("apply",)) and call.stdin:
        for line in call.stdin.splitlines():
            if line.startswith("+++ "):
                yield line[4:].split("\t")[0].removeprefix("b/")


def _copied(words: Sequence[str], plain: Sequence[str]) -> Iterator[str]:
    """Yield a copy's target, each file copied into it, and each source that `mv` moves away."""
    targets = [*_values(words, "t", "--target-directory")]
    target = targets[0] if targets else plain[-1] if len(plain) > 1 else "."
    sources = [path for path in plain if path != target]
    if ":" in target or (words[0] == "rsync" and "-n" in programs.options_of(words)):
        return  # a remote target, or a dry run
    target = target.rstrip("/") or "/"
    is_mirror = words[0] == "rsync" and any(word.startswith("--del") for word in words)
    yield f"{target}/" if is_mirror else target
    for source in sources:
        name = os.path.basename(source.rstrip("/"))
        if not is_glob(name) and not target.startswith(source):  # `cp a a.bak` makes no `a.bak/a`
            yield os.path.join(target, name)
        if words[0] == "mv":
            yield f"{source}/"


def _of_git(words: Sequence[str], plain: Sequence[str]) -> Iterator[str]:
    """Yield the files that `git rm`, `mv`, `restore`, `clean` or a file checkout changes."""
    paths = plain[1:]
    options = programs.options_of(words)
    if "--cached" in options or ("--staged" in options and "--worktree" not in options):
        return  # only git's index changes, no file
    if plain[0] == "clean":
        paths = () if "-n" in options else paths or (".",)
    if plain[0] == "checkout":
        if "--" in words:
            paths = words[words.index("--") + 1 :]
        elif not {"-b", "-B", "--orphan", "-t", "--track"}.isdisjoint(words):
            paths = ()
        elif len(paths) == 1:  # a branch or a file: assume a file if its name has a dot
            paths = [path for path in paths if "." in os.path.basename(path)]
        else:
            paths = paths[1:]
    yield from (f"{path}/" for path in paths)


def _downloaded(program: str, words: Sequence[str], plain: Sequence[str]) -> Iterator[str]:
    letters = {word[1:] for word in words if word.startswith("-") and not word.startswith("--")}
    keeps = any("O" in letter and _WITH_VALUE.isdisjoint(letter) for letter in letters)
    is_kept = {"curl": keeps or "--remote-name" in words, "wget": not keeps}
    if is_kept.get(program):
        folder = [*_values(words, "P", "--directory-prefix"), *_values(words, "\0", "--output-dir")]
        for url in plain:
            if "/" in url:
                yield os.path.join(*folder[:1], url.partition("?")[0].rpartition("/")[2])


def _values(words: Sequence[str], letter: str, name: str) -> Iterator[str]:
    """Yield an option's values in any form: `-o x`, `-ox`, `-sSo x`, `--output x`, `--output=x`."""
    for at, word in enumerate(words):
        head, sign, value = word.partition("=")
        following = words[at + 1 : at + 2]
        if name and head == name:
            yield from (value,) if sign else following
        elif word.startswith("-") and not word.startswith("--") and letter in word:
            before, _, attached = word[1:].partition(letter)
            if _WITH_VALUE.isdisjoint(before):
                yield from (attached,) if attached else following


def covers(pattern: str, path: str) -> bool:
    """Return True if `path` or a parent folder matches; patterns without `/` match at any depth."""
    parts = [part for part in path.split("/") if part]
    wanted = [part for part in pattern.strip("/").split("/") if part not in ("", ".")]
    if not wanted or not parts:
        return False
    if "/" not in pattern.rstrip("/"):
        names = parts[:-1] if pattern.endswith("/") else parts
        return any(is_like(wanted[0], name) for name in names)
    # The shell expands wildcards in a command's path, so path and pattern may both contain them.
    is_name = is_like if wanted[0] == "**" else _meet
    reached = {0}
    for part in parts:
        reached = {
            after
            for at in _with_empty(wanted, reached)
            for after in ([at] if wanted[at : at + 1] == ["**"] else [])
            + ([at + 1] if at < len(wanted) and is_name(wanted[at], part) else [])
        }
        if len(wanted) in _with_empty(wanted, reached):
            return True
    return False


def is_like(pattern: str, name: str) -> bool:
    """Return True if a name matches a pattern with `*` and `?`. No regex, as it could be slow."""
    at = start = 0
    star, mark = -1, 0
    while at < len(name):
        if start < len(pattern) and pattern[start] == "*":
            star, mark = start, at
            start += 1
        elif start < len(pattern) and pattern[start] in (name[at], "?"):
            at, start = at + 1, start + 1
        elif star >= 0:
            mark += 1
            at, start = mark, star + 1
        else:
            return False
    return not pattern[start:].strip("*")


def reaches(path: str, wanted: str, *, whole: bool) -> bool:
    """Return True if `path` is the `wanted` path or, with `whole`, one of its parent folders."""
    parts = [part for part in path.split("/") if part]
    names = [part for part in wanted.split("/") if part]
    if whole and len(parts) == len(names) + 1 and not parts[-1].strip("*"):
        parts.pop()
    if not wanted or (len(parts) != len(names) and not (whole and len(parts) < len(names))):
        return False
    return all(_meet(b, a) for a, b in zip(parts, names, strict=False))


def literal_head(pattern: str) -> str:
    """Return the folders in a pattern before its first part with a wildcard."""
    parts = pattern.split("/")
    at = next((at for at, part in enumerate(parts) if is_glob(part) or "{" in part), len(parts))
    return "/".join(parts[:at]) or ("/" if pattern.startswith("/") else "")


def is_glob(text: str) -> bool:
    """Return True if a text contains a wildcard."""
    return "*" in text or "?" in text


def _with_empty(wanted: Sequence[str], reached: set[int]) -> set[int]:
    """Return `reached` positions in a pattern and those after a `**`, which may match nothing."""
    places = set(reached)
    for at in sorted(reached):
        while at < len(wanted) and wanted[at] == "**":
            at += 1
            places.add(at)
    return places


def _meet(wanted: str, part: str) -> bool:
    """Return True if one text matches the other as a pattern; both may contain wildcards."""
    return is_like(wanted, part) or (is_glob(part) and is_like(part, wanted))
