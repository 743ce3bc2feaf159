"""Records of scope global, without what would tell where they come from."""

from __future__ import annotations

import os
import re
from functools import partial

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory_fabric.config import Settings
    from memory_fabric.models import Record
    from memory_fabric.store.projects import Project

# From so many letters on a name tells where it comes from inside another one, too: "ledgerly-db".
TELLING_CHARS = 6
# Hosts that say nothing about who uses them.
PUBLIC_HOSTS = frozenset(("github.com", "gitlab.com", "bitbucket.org", "codeberg.org", ""))

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s'\"`<>)]{1,1000}", re.IGNORECASE)
# Absolute paths, paths from home, drive letters, and relative ones that end in a file name.
_PATH = re.compile(
    r"(?<![\w/.~-])(?:~/|/(?=[\w.-]{1,200}/)|/(?:home|Users|root|srv|opt|var|tmp|mnt|work)\b|"
    r"[A-Za-z]:\\)[^\s,;:'\"`)]{0,300}|(?<![\w/.-])(?:[\w.-]{1,100}/){1,20}[\w-]{1,100}\.\w{1,6}\b"
)
_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")


def anonymised(record: Record, project: Project | None, settings: Settings) -> Record:
    """The record without project, paths, people and host; entities that name the project go."""
    names = _telling_names(project, settings)

    def clean(text: str) -> str:
        return cleaned(text, names)

    def is_telling(name: str) -> bool:
        return clean(name) != name

    return record._replace(
        what=clean(record.what),
        why=clean(record.why),
        alternatives=tuple(clean(a) for a in record.alternatives),
        constraints=tuple(clean(c) for c in record.constraints),
        tradeoffs=tuple(clean(t) for t in record.tradeoffs),
        category=clean(record.category),
        entities=tuple(e for e in record.entities if not is_telling(e.name)),
        relations=tuple(
            r for r in record.relations if not is_telling(r.source) and not is_telling(r.target)
        ),
        project="",
        author="",
        origin="",
        session="",
        agent="",
        evidence={},
    )


def cleaned(text: str, names: Mapping[str, str]) -> str:
    """The text without paths, links, addresses and these names, each replaced by what it is."""
    text = _PATH.sub("a path", _URL.sub("a link", _EMAIL.sub("someone", text)))
    text = _ADDRESS.sub("an address", text)
    for name, instead in names.items():
        # A short name is a word of other things, too: "api" in "rest-api"; a long one tells.
        joint = "" if len(name) >= TELLING_CHARS else "-"
        pattern = rf"(?<![\w{joint}]){_any_spelling(name)}(?![\w{joint}])"
        text = re.sub(pattern, partial(_instead, name, instead), text, flags=re.IGNORECASE)
    return text


def _telling_names(project: Project | None, settings: Settings) -> dict[str, str]:
    """Names that would tell the origin, and what stands in their place."""
    names: dict[str, str] = {}
    for key in project.keys if project else ():
        kind, _, value = key.partition(":")
        host, *owners = value.split("/")[:-1] if kind == "remote" else [""]
        names |= dict.fromkeys(owners, "the owner")
        if host not in PUBLIC_HOSTS:
            names[host] = "a host"
    if project:
        names[project.name] = "the project"
        names[os.path.basename(project.root)] = "the project"
    names[settings.author] = "someone"
    names[settings.origin] = "a host"
    return {name: instead for name, instead in names.items() if len(name) > 1}


def _any_spelling(name: str) -> str:
    """An expression for the name with `-`, `_`, a space or nothing between its parts."""
    return "[-_ ]?".join(map(re.escape, re.split(r"[-_ ]+", name.strip("-_ "))))


def _instead(name: str, instead: str, match: re.Match[str]) -> str:
    """A short name in capitals is rather a word of the trade: "API" where the project is "api"."""
    found = match.group()
    return found if found.isupper() and found != name and len(found) < 5 else instead
