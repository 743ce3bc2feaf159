"""Anonymisation of records of scope global, which must not reveal their origin.

Some text is recognised by its form and replaced: paths, links, addresses, hosts. Known names are
replaced, too: of the project and its owners, the machine, the user, and the people, companies and
places in the graph. The module capture.people handles unknown names.
"""

import os
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from memory_fabric.models import Record
from memory_fabric.store import files
from memory_fabric.store.base_memory import BaseMemory

# A name of at least this length is also replaced within a hyphenated word, as in "ledgerly-db".
DISTINCTIVE_CHARS = 6
# Hosts of repositories whose names reveal nothing about a repository's owner.
PUBLIC_HOSTS = frozenset(("github.com", "gitlab.com", "bitbucket.org", "codeberg.org", ""))
# Entity types that identify somebody, each with the text that replaces an entity's name.
IDENTIFYING_TYPES = (
    dict.fromkeys("person people user author colleague contact".split(), "someone")
    | dict.fromkeys("organization organisation company customer client vendor".split(), "a company")
    | dict.fromkeys("place location city country office".split(), "a place")
    | dict.fromkeys("host server machine".split(), "a host")
)
MAX_NAMES = 2000
_TYPES = ", ".join("?" * len(IDENTIFYING_TYPES))
# Names of accounts that exist on many systems.
COMMON_USERS = frozenset(
    """root admin administrator user test guest nobody postgres app deploy www-data ubuntu vscode
    runner claude node""".split()
)
# Addresses that have the same meaning on every system.
COMMON_ADDRESSES = frozenset(("127.0.0.1", "0.0.0.0", "169.254.169.254", "255.255.255.255"))
COMMON_NETS = frozenset("10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 127.0.0.0/8 0.0.0.0/0".split())
# Well-known hosts, and names of programs that look like host names.
COMMON_NAMES = frozenset(
    """example.com example.org example.net github.com gitlab.com bitbucket.org npmjs.com pypi.org
    crates.io docker.io ghcr.io quay.io socket.io fly.io draw.io ko.net asp.net ado.net vb.net
    ml.net google.com amazon.com microsoft.com apple.com cloudflare.com rubygems.org golang.org
    python.org nodejs.org w3.org ietf.org wikipedia.org stackoverflow.com""".split()
)

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}")
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s'\"`<>)]{1,1000}", re.IGNORECASE)
# Absolute paths, paths in the home folder, drive letters, and relative paths with a file name.
_PATH = re.compile(
    r"(?<![\w/.~-])(?:~/|/(?=[\w.-]{1,200}/)|/(?:home|Users|root|srv|opt|var|tmp|mnt|work)\b|"
    r"[A-Za-z]:\\|\\\\(?=[\w.-]{1,100}\\))[^\s,;:'\"`)]{0,300}|(?<![\w/.-])(?:[\w.-]{1,100}/){1,20}[\w-]{1,100}\.\w{1,6}\b"
)
_ADDRESS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b(?!/)")
_NET = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}/\d{1,2}\b")
_ADDRESS_6 = re.compile(
    r"(?<![\w:.])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}(?![\w:])|"
    r"(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){2,6}|(?:f[cde][0-9a-f]{2}|2[0-9a-f]{3}):):"
    r"(?:(?:[0-9a-f]{1,4}:){0,4}[0-9a-f]{1,4})?(?![\w:])",
    re.IGNORECASE,
)
_TIME = re.compile(r"\d{1,2}(?::\d{1,2})*")
# Host names: at least two labels (`a.org`), or three for endings that program names share (`.io`).
_HOST = re.compile(
    r"(?<![\w.@/-])(?:[a-z0-9][a-z0-9_-]{0,62}\.){1,6}(?:com|org|net|edu|gov|de|fr|nl|ch|at|be|se|"
    r"dk|fi|eu|uk|jp|cn|kr|ru|br|ca|au|nz|es|it|cz|lan|internal|intranet|corp|localdomain)"
    r"(?::\d{1,5})?(?![\w.-]?\w)|(?<![\w.@/-])(?:[a-z0-9][a-z0-9_-]{0,62}\.){2,6}"
    r"(?:io|dev|app|ai|co|cloud|local|home|test|info|biz|us|me|in|tech|systems)"
    r"(?::\d{1,5})?(?![\w.(-]?\w|\()",
    re.IGNORECASE,
)
# Phrases such as "host build7" or "server web-03", and typical machine names.
_MACHINE = re.compile(
    r"\b(?:hosts?|hostname|server|machine|vm|workstation|laptop)\s{1,3}[`'\"]?"
    r"(?!v\d)(?=[a-z0-9-]{0,62}\d)[a-z][a-z0-9-]{1,62}\b[`'\"]?|"
    r"(?<![\w.-])(?:build|srv|server|host|prod|staging|stage|stg|vm|ci|db|web|app|mail|gw|worker|"
    r"jump|bastion)(?:-[a-z]{1,16}){0,3}-?\d{1,3}(?![\w.-]?\w)",
    re.IGNORECASE,
)
_CALLED = re.compile(r"\b(?:the |an? )?(?:(?:hosts?|hostname|server|machine) )?a host\b")
_NO_MACHINE = frozenset(("web3", "web2", "db2"))
_HANDLE = re.compile(r"(?<![\w`@./-])@[A-Za-z][\w-]{1,38}(?![\w/(.-]?\w|[/(`])")
# Words with an at sign that are not accounts: annotations, and rules of style sheets.
_ANNOTATIONS = frozenset(
    """@property @dataclass @staticmethod @classmethod @override @test @transactional @deprecated
    @param @params @return @returns @throws @see @todo @media @import @apply @layer @supports
    @keyframes @font-face @charset @inject @injectable @component @autowired @cache @cached @pytest
    @nullable @nonnull @entity @service @controller @input @output @state @ts-ignore
    @ts-expect-error @latest @next @types @alpha @beta""".split()
)
_ACCOUNT = re.compile(
    r"\b(?P<cue>(?:user(?:name)?|login|account)(?:\s{0,3}[=:]\s{0,3}[`'\"]?|\s{1,3}[`'\"])|"
    r"--user[= ]|\bssh\s{1,3})(?P<name>[a-z][a-z0-9._-]{1,31})(?P<host>@[\w.-]{1,200})?",
    re.IGNORECASE,
)


def anonymised(record: Record, memory: BaseMemory) -> Record:
    """Replace project, paths, people and hosts in a record's text; drop entities that name them."""
    clean = partial(cleaned, names=identifying_names(memory))
    things = (e for e in record.entities if e.type not in IDENTIFYING_TYPES)
    texts: dict[str, Any] = {n: clean(getattr(record, n)) for n in ("what", "why", "category")}
    for name in ("alternatives", "constraints", "tradeoffs"):
        texts[name] = tuple(map(clean, getattr(record, name)))
    texts |= dict.fromkeys(("project", "author", "origin", "session", "agent"), "")
    entities = tuple(entity for entity in things if clean(entity.name) == entity.name)
    ends = ((relation, (relation.source, relation.target)) for relation in record.relations)
    relations = tuple(relation for relation, names in ends if tuple(map(clean, names)) == names)
    return record._replace(**texts, entities=entities, relations=relations, evidence={})


def cleaned(text: str, names: Mapping[str, str]) -> str:
    """Replace paths, links, addresses, hosts, accounts and `names`, each by a general word."""
    text = _EMAIL.sub("someone", text) if "@" in text else text
    text = _PATH.sub("a path", _URL.sub("a link", text))
    text = _ADDRESS.sub(lambda m: m[0] if m[0] in COMMON_ADDRESSES else "an address", text)
    # Keep whole private networks (`10.0.0.0/8`), which many sites have; replace all other networks.
    text = _NET.sub(lambda m: m[0] if m[0] in COMMON_NETS else "an address", text)
    text = _ADDRESS_6.sub(lambda m: m[0] if _TIME.fullmatch(m[0]) else "an address", text)
    text = _HOST.sub(
        lambda m: m[0] if m[0].lower().partition(":")[0] in COMMON_NAMES else "a host", text
    )
    text = _MACHINE.sub(lambda m: m[0] if m[0].lower() in _NO_MACHINE else "a host", text)
    text = _CALLED.sub("a host", text)
    text = _HANDLE.sub(lambda m: m[0] if m[0].lower() in _ANNOTATIONS else "someone", text)
    text = _ACCOUNT.sub(_account, text)
    for name, instead in names.items():
        # Only a short name can be part of another word by chance, like "api" in "rest-api".
        joint = "" if len(name) >= DISTINCTIVE_CHARS else "-"
        spelling = "[-_ ]?".join(map(re.escape, re.split(r"[-_ ]+", name.strip("-_ "))))
        pattern = rf"(?<![\w{joint}]){spelling}(?![\w{joint}])"
        text = re.sub(pattern, partial(_replacement, name, instead), text, flags=re.IGNORECASE)
    return text


def identifying_names(memory: BaseMemory) -> dict[str, str]:
    """Return the names that would reveal a record's origin, each with its replacement."""
    project, settings = memory.project, memory.settings
    names: dict[str, str] = {}
    of_types = f"SELECT name, lower(type) FROM entities WHERE lower(type) IN ({_TYPES}) LIMIT ?"
    for database in memory.databases():
        rows = database.rows(of_types, (*IDENTIFYING_TYPES, MAX_NAMES))
        names |= {name: IDENTIFYING_TYPES[type_] for name, type_ in rows}
    for key in project.keys if project else ():
        kind, _, value = key.partition(":")
        host, *owners = value.split("/")[:-1] if kind == "remote" else [""]
        names |= dict.fromkeys(owners, "the owner")
        if host not in PUBLIC_HOSTS:
            names[host] = "a host"
    names |= dict.fromkeys(_user_names(memory), "someone")
    names[settings.origin] = "a host"
    if project:
        names[project.name] = "the project"
        names[os.path.basename(project.root)] = "the project"
    longer = {name: instead for name, instead in names.items() if len(name) > 1}
    # Longer names come first: if "Acme" was replaced first, "Acme Retail" would leave "Retail".
    return dict(sorted(longer.items(), key=lambda pair: -len(pair[0])))


def _user_names(memory: BaseMemory) -> set[str]:
    settings, project = memory.settings, memory.project
    names = {settings.author, os.path.basename(settings.user_home)}
    home = settings.user_home
    paths = [os.path.join(home, ".gitconfig"), os.path.join(home, ".config", "git", "config")]
    paths += [os.path.join(project.root, ".git", "config")] if project else []
    for path in paths if home else paths[2:]:
        try:
            text = files.read_text(path) or ""
        except OSError:
            continue  # skip what is not a readable file: a folder or pipe has no user names
        section = ""
        for line in map(str.strip, text.split("\n")):
            section = line.lower() if line.startswith("[") else section
            key, _, value = line.partition("=")
            key, value = key.strip().lower(), value.strip().strip('"')
            if section == "[user]" and key == "name" and value:
                names |= {value, *(part for part in value.split() if len(part) >= 3)}
            elif section == "[user]" and key == "email" and "@" in value:
                names.add(value.partition("@")[0].rpartition("+")[2])
    return names - COMMON_USERS


def _account(match: re.Match[str]) -> str:
    is_common = match["name"].lower() in COMMON_USERS or match["cue"].lower().startswith("ssh")
    return match.group() if is_common and not match["host"] else f"{match['cue']}someone"


def _replacement(name: str, instead: str, match: re.Match[str]) -> str:
    """Return `instead`, or the match if it is a short word in capitals ("API" for a name "api")."""
    form = match.group()
    return form if form.isupper() and form != name and len(form) < 5 else instead
