"""Glob patterns for paths, as in .gitignore: `*` and `?` in a part, `**` over parts."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    """Return True if all parts match all wanted ones; `**` stands for any number of parts."""
    reached = {0}
    for part in parts:
        reached = {
            after
            for at in _with_empty(wanted, reached)
            for after in ([at] if wanted[at : at + 1] == ["**"] else [])
            + ([at + 1] if at < len(wanted) and is_like(wanted[at], part) else [])
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
