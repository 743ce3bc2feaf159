"""Glob patterns for paths, as in .gitignore: `*` and `?` in a part, `**` over parts."""

from __future__ import annotations

from collections.abc import Sequence


def covers(pattern: str, path: str) -> bool:
    """Return True if a pattern matches a relative path, or one of the folders that it is in.

    A pattern without a slash matches a name at any depth.
    """
    parts = [part for part in path.split("/") if part]
    wanted = [part for part in pattern.strip("/").split("/") if part not in ("", ".")]
    if not wanted or not parts:
        return False
    if "/" not in pattern.strip("/"):
        if pattern.endswith("/") and not pattern.startswith("/"):
            return any(is_like(wanted[0], part) for part in parts[:-1])
        if not pattern.startswith("/"):
            return any(is_like(wanted[0], part) for part in parts)
    return any(_match(wanted, parts[:end]) for end in range(1, len(parts) + 1))


def is_like(pattern: str, name: str) -> bool:
    """Return True if a name matches a pattern with `*` and `?`; in linear space, without regex."""
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
    """Return True if a path of a command, in which the shell expands globs, is the wanted one.

    If the command acts on the `whole` of it, so are the folders above it, and all that is in it.
    """
    parts = [part for part in path.split("/") if part]
    names = [part for part in wanted.split("/") if part]
    if whole and len(parts) == len(names) + 1 and not parts[-1].strip("*"):
        parts.pop()
    if not wanted or (len(parts) != len(names) and not (whole and len(parts) < len(names))):
        return False
    return all(_meet(b, a) for a, b in zip(parts, names, strict=False))


def literal_head(pattern: str) -> str:
    """Return the part of a pattern before its first glob."""
    parts = pattern.split("/")
    at = next((at for at, part in enumerate(parts) if is_glob(part) or "{" in part), len(parts))
    return "/".join(parts[:at]) or ("/" if pattern.startswith("/") else "")


def is_glob(text: str) -> bool:
    """Return True if a text has a sign of a pattern."""
    return "*" in text or "?" in text


def alternatives(pattern: str) -> list[str]:
    """Return the patterns that `{a,b}` stands for, one pair of braces at a time."""
    start, end = pattern.find("{"), pattern.find("}")
    if not 0 <= start < end or pattern.count("{") > 3:
        return [pattern]
    heads = [pattern[:start] + part for part in pattern[start + 1 : end].split(",")]
    return [head + rest for head in heads for rest in alternatives(pattern[end + 1 :])]


def _match(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    """Return True if all parts match all wanted ones; `**` stands for any number of parts.

    A part of a path from the root may be a glob itself, which the shell expands.
    """
    is_name = is_like if wanted[0] == "**" else _meet
    reached = {0}
    for part in parts:
        reached = {
            after
            for at in _with_empty(wanted, reached)
            for after in ([at] if wanted[at : at + 1] == ["**"] else [])
            + ([at + 1] if at < len(wanted) and is_name(wanted[at], part) else [])
        }
    ends = _with_empty(wanted, reached)
    return len(wanted) in ends


def _with_empty(wanted: Sequence[str], reached: set[int]) -> set[int]:
    """Return the reached places with those behind a `**` that stands for nothing."""
    found = set(reached)
    for at in sorted(reached):
        while at < len(wanted) and wanted[at] == "**":
            at += 1
            found.add(at)
    return found


def _meet(wanted: str, part: str) -> bool:
    """Return True if one of two names or patterns means the other."""
    return is_like(wanted, part) or (is_glob(part) and is_like(part, wanted))
