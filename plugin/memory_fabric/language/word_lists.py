"""Words, phrases and tables from files in `data/`, read on first use. A section of a file is a
heading `== name ==`, followed by words or by whole lines. Lines that begin with `# ` are comments.
"""

import os
from functools import cache

_FOLDER = os.path.join(os.path.dirname(__file__), "data")


@cache
def sections(file: str) -> dict[str, tuple[str, ...]]:
    """Return the lines of each section of `data/FILE.txt`, without comments and empty lines."""
    lists: dict[str, tuple[str, ...]] = {}
    with open(os.path.join(_FOLDER, f"{file}.txt"), encoding="utf-8") as stream:
        for section in stream.read().split("\n== ")[1:]:
            name, _, text = section.partition(" ==\n")
            lists[name] = tuple([x for x in text.split("\n") if x and x[:2] != "# "])
    return lists


@cache
def words(file: str, *names: str) -> frozenset[str]:
    """Return the words in the sections with these names, or in all sections if none is given."""
    lists = sections(file)
    return frozenset(" ".join(" ".join(lists[name]) for name in names or lists).split())


def word_table(file: str, name: str) -> dict[str, str]:
    """Map each key in a section to its value; lines have the form `value = key1 key2`."""
    rows = (line.partition(" = ") for line in sections(file)[name])
    return {key: value for value, _, keys in rows for key in keys.split()}


@cache
def either(file: str, name: str) -> str:
    """Return a regular expression that matches any line of a section."""
    return "|".join(sections(file)[name])


@cache
def phrases(file: str, name: str) -> str:
    """Return a regex: section `name` matches whole words, "<name>, anywhere" also inside words."""
    anywhere = sections(file).get(f"{name}, anywhere", ())
    return "|".join((rf"\b(?:{either(file, name)})\b", *anywhere))


@cache
def filled(file: str) -> dict[str, tuple[str, ...]]:
    """Return a file's regexes by section; `<NAME>`s defined in its section `parts` are expanded."""
    lists = sections(file)
    parts: dict[str, str] = {}
    for line in lists["parts"]:
        name, expression = line.split("\t")
        parts[name] = _filled(expression, parts)
    return {name: tuple(_filled(line, parts) for line in lists[name]) for name in lists}


def _filled(line: str, parts: dict[str, str]) -> str:
    if "<" in line:
        for name, expression in parts.items():
            line = line.replace(name, expression)
    return line
