"""The environment and config.toml as one frozen value; the only module that reads variables."""

from __future__ import annotations

import os

from memory_fabric.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# What the client itself uses for its own state; ours lies beside it, never in the plugin's folders.
DEFAULT_CONFIG_DIR = "~/.claude"
HOME_NAME = "memory-fabric"
OFF_WORDS = frozenset(("off", "0", "false", "no"))
# Both names of a domain.
DOMAIN_KEYS = ("domain", "expert_domain")
# What can be turned off, each by itself.
PARTS = ("read", "write")
# Where sessions are forwarded to, each address with its own key: the first that is set counts.
RECEIVERS = (
    ("MEMORY_FABRIC_FORWARD_URL", "MEMORY_FABRIC_FORWARD_KEY"),
    ("MOE_MEMORY_ENDPOINT", "MOE_API_KEY"),
)
INGEST_PATH = "/v1/memory/ingest"


class Rooms(Value):
    """What config.toml says of domains: `agents` and `paths` give the domain of an agent type (as
    it is written there) and of a folder; `isolated` and `isolated_agents` see nothing but their
    own.
    """

    agents: Mapping[str, str] = {}
    paths: Mapping[str, str] = {}
    isolated: frozenset[str] = frozenset()
    isolated_agents: frozenset[str] = frozenset()


class Settings(Value):
    """Everything that a run depends on besides its input. Paths are absolute; empty means unset."""

    home: str
    config_dir: str
    plugin_root: str = ""
    data_dir: str = ""
    project_dir: str = ""
    session: str = ""
    reads: bool = True
    writes: bool = True
    attended: bool = True
    capture_unattended: str = "low"
    ci: bool = False
    dedup_threshold: float = 0.85
    boost_factor: float = 1.2
    max_results: int = 20
    max_reply_chars: int = 40_000
    episodes_keep_days: int = 90
    notices: str = "all"
    semantic: bool = True
    native_memory: bool = True
    memory_file_path: str = ""
    author: str = ""
    origin: str = ""
    user_home: str = ""
    agent_terms: Mapping[str, str] = {}
    domain: str = ""
    rooms: Rooms = Rooms()
    forward_url: str = ""
    forward_key: str = ""
    serve_rate: int = 2000
    serve_backlog: int = 250_000
    complaints: tuple[str, ...] = ()


def home_path(environ: Mapping[str, str]) -> str:
    """Where memory lives: MEMORY_FABRIC_HOME, else `memory-fabric` beside the client's state."""
    stated = environ.get("MEMORY_FABRIC_HOME", "")
    return _absolute(stated or os.path.join(config_path(environ), HOME_NAME), environ)


def config_path(environ: Mapping[str, str]) -> str:
    """The client's own config folder: CLAUDE_CONFIG_DIR, else `~/.claude`."""
    return _absolute(environ.get("CLAUDE_CONFIG_DIR", "") or DEFAULT_CONFIG_DIR, environ)


def has_display(environ: Mapping[str, str], system: str) -> bool:
    """Whether a browser that is started here would be seen; `system` is `sys.platform`."""
    if environ.get("BROWSER"):
        return True
    if system in ("darwin", "win32"):
        return not environ.get("SSH_CONNECTION")
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def search_path(environ: Mapping[str, str]) -> list[str]:
    """The folders in which a shell looks for commands."""
    return [folder for folder in environ.get("PATH", "").split(os.pathsep) if folder]


def read_settings(environ: Mapping[str, str], file: Mapping[str, Any]) -> Settings:
    """Settings from variables and the parsed config.toml; a variable wins over the file.

    A value that cannot be used is named in `complaints` and its default stands.
    """
    complaints: list[str] = []
    capture, episodes = _table(file, "capture"), _table(file, "episodes")
    switch = environ.get("MEMORY_FABRIC", "").lower()
    forward_url, forward_key = _receiver(environ, complaints)
    return Settings(
        home=home_path(environ),
        config_dir=config_path(environ),
        plugin_root=environ.get("CLAUDE_PLUGIN_ROOT", "").rstrip("/"),
        data_dir=environ.get("CLAUDE_PLUGIN_DATA", "").rstrip("/"),
        project_dir=environ.get("CLAUDE_PROJECT_DIR", ""),
        session=environ.get("CLAUDE_CODE_SESSION_ID", ""),
        reads=switch not in OFF_WORDS and _switch(file, "read", complaints),
        writes=switch not in OFF_WORDS and _switch(file, "write", complaints),
        attended=environ.get("CLAUDE_CODE_SESSION_ATTENDED", "1") != "0",
        capture_unattended=_choice(capture, "unattended", ("low", "off", "full"), complaints),
        ci=environ.get("CI", "").lower() in ("true", "1"),
        dedup_threshold=_number(
            environ, "MEMORY_FABRIC_DEDUP_THRESHOLD", 0.85, 0.0, 1.0, complaints
        ),
        boost_factor=_number(environ, "MEMORY_FABRIC_BOOST_FACTOR", 1.2, 1.0, 10.0, complaints),
        max_results=int(_number(environ, "MEMORY_FABRIC_MAX_RESULTS", 20, 1, 1000, complaints)),
        max_reply_chars=int(
            _number(environ, "MEMORY_FABRIC_MAX_REPLY_CHARS", 40_000, 1000, 10**9, complaints)
        ),
        episodes_keep_days=_days(episodes, complaints),
        notices=_choice(file, "notices", ("all", "problems", "off"), complaints),
        semantic=file.get("semantic", True) is not False,
        native_memory=environ.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "").lower()
        not in ("1", "true"),
        memory_file_path=environ.get("MEMORY_FILE_PATH", ""),
        author=environ.get("USER", "") or environ.get("LOGNAME", "") or environ.get("USERNAME", ""),
        origin=os.uname().nodename if hasattr(os, "uname") else environ.get("COMPUTERNAME", ""),
        user_home=_user_home(environ),
        agent_terms={
            str(k): str(v) for k, v in _table(file, "agent_terms").items() if isinstance(v, str)
        },
        domain=domain_name(environ.get("MEMORY_FABRIC_DOMAIN", "")),
        rooms=_rooms(file, complaints) if "domains" in file or "agents" in file else Rooms(),
        forward_url=forward_url,
        forward_key=forward_key,
        serve_rate=_whole(_table(file, "serve"), "serve.rate", 2000, 10**6, complaints),
        serve_backlog=_whole(_table(file, "serve"), "serve.backlog", 250_000, 10**8, complaints),
        complaints=tuple(complaints),
    )


def captures(settings: Settings) -> bool:
    """Whether anything that is said in this session may be kept, or sent on."""
    if settings.ci or not settings.writes:
        return False
    return settings.attended or settings.capture_unattended != "off"


def domain_name(text: str) -> str:
    """A domain as it is kept: `Code-Reviewer` is `code_reviewer`; '' for no name."""
    return "_".join("".join(c if c.isalnum() else " " for c in text.lower()).split())[:80]


def _rooms(file: Mapping[str, Any], complaints: list[str]) -> Rooms:
    """The tables `[domains.NAME]` (agents, paths, isolate) and `[agents.TYPE]` (domain, isolate).

    Who wrote `isolate` wanted a wall: what is not true or false stands as one.
    """
    agents: dict[str, str] = {}
    paths: dict[str, str] = {}
    isolated, isolated_agents = set[str](), set[str]()
    for written, room in _tables(file, "domains", ("agents", "paths", "isolate"), complaints):
        domain, place = domain_name(written), f"domains.{written}"
        for known, key in ((agents, "agents"), (paths, "paths")):
            for one in _texts(room, key, place, complaints):
                _put(known, one, domain, f"{place}.{key}", complaints)
        if _isolates(room, place, complaints):
            isolated.add(domain)
    for agent, stated in _tables(file, "agents", (*DOMAIN_KEYS, "isolate"), complaints):
        for key in (key for key in DOMAIN_KEYS if key in stated):
            name = domain_name(stated[key]) if isinstance(stated[key], str) else ""
            if name:
                _put(agents, agent, name, f"agents.{agent}.{key}", complaints)
            else:
                complaints.append(f"config.toml: agents.{agent}.{key} must be a name")
        if _isolates(stated, f"agents.{agent}", complaints):
            isolated_agents.add(agent)
    return Rooms(agents, paths, frozenset(isolated), frozenset(isolated_agents))


def _receiver(environ: Mapping[str, str], complaints: list[str]) -> tuple[str, str]:
    """The address that sessions are forwarded to, and its key; none where one cannot be used."""
    for address, secret in RECEIVERS:
        if not environ.get(address):
            continue
        url, wrong = ingest_address(environ[address].strip())
        key = environ.get(secret, "").strip()
        if wrong:
            complaints.append(f"{address} {wrong}; nothing is forwarded")
        elif any(not "!" <= c <= "~" for c in key):
            complaints.append(f"{secret} holds a character that no key has; nothing is forwarded")
        else:
            return url, key
        return "", ""
    return "", ""


def ingest_address(text: str) -> tuple[str, str]:
    """The address as it is asked, with the path of ingest where it has none; and what is wrong."""
    scheme, sign, rest = text.partition("://")
    scheme = scheme.lower()
    if not sign or scheme not in ("http", "https"):
        return "", "must begin with http:// or https://"
    if any(not "!" <= c <= "~" for c in text):
        return "", "holds a character that no address has"
    end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
    host, path = rest[:end], rest[end:]
    if "@" in host:
        return "", "must not hold a name or a password: a variable of its own takes the key"
    if "#" in path:
        return "", "must not hold a #"
    if not _names_host(host):
        return "", "names no host, or a port that is none"
    query = path[path.find("?") :] if "?" in path else ""
    if path.removesuffix(query) in ("", "/"):
        path = INGEST_PATH + query
    return f"{scheme}://{host.lower()}{path}", ""


def _names_host(text: str) -> bool:
    """Whether this is a name or a number of a host, with a port or without."""
    if text.startswith("["):
        name, closed, port = text[1:].partition("]")
        fits = bool(closed) and bool(name) and all(c in "0123456789abcdefABCDEF:." for c in name)
        port = port if fits else "none"
    else:
        name, sign, port = text.partition(":")
        port = sign + port
        fits = bool(name) and all(c.isalnum() or c in "-._" for c in name)
    if not fits or not port:
        return fits
    return port[:1] == ":" and port[1:].isdigit() and 0 < int(port[1:]) < 1 << 16


def _put(known: dict[str, str], key: str, domain: str, place: str, complaints: list[str]) -> None:
    """Give an agent or a folder its domain; one that has another keeps that."""
    if known.setdefault(key, domain) != domain:
        complaints.append(
            f"config.toml: {place}: {key!r} is in the domain {known[key]} already, and stays there"
        )


def _user_home(environ: Mapping[str, str]) -> str:
    return environ.get("HOME", "") or os.path.expanduser("~")


def _absolute(path: str, environ: Mapping[str, str]) -> str:
    """The path from the user's home, where it says `~` or nothing: a hook's own place drifts."""
    home = _user_home(environ)
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.normpath(os.path.join(home, path))


def _table(file: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = file.get(name, {})
    return table if isinstance(table, dict) else {}


def _tables(
    file: Mapping[str, Any], name: str, known: tuple[str, ...], complaints: list[str]
) -> list[tuple[str, Mapping[str, Any]]]:
    """The tables in a table, by their names; what they hold beside the `known` keys is named."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    if not isinstance(file.get(name, {}), dict):
        complaints.append(f"config.toml: {name} must be tables, as in [{name}.NAME]")
    for key, value in _table(file, name).items():
        if isinstance(value, dict) and domain_name(key):
            found.append((key, value))
            complaints += [
                f"config.toml: {name}.{key}.{other} means nothing; known are {', '.join(known)}"
                for other in value
                if other not in known
            ]
        else:
            complaints.append(f"config.toml: {name}.{key} must be a table with a name")
    return found


def _texts(
    table: Mapping[str, Any], key: str, place: str, complaints: list[str]
) -> tuple[str, ...]:
    value = table.get(key, [])
    if isinstance(value, list) and all(isinstance(one, str) and one for one in value):
        return tuple(value)
    complaints.append(f"config.toml: {place}.{key} must be a list of texts, not {value!r}")
    return ()


def _isolates(table: Mapping[str, Any], place: str, complaints: list[str]) -> bool:
    value = table.get("isolate", False)
    if not isinstance(value, bool):
        complaints.append(
            f"config.toml: {place}.isolate must be true or false, not {value!r}; it isolates"
        )
    return value is not False


def _number(
    environ: Mapping[str, str],
    name: str,
    default: float,
    low: float,
    high: float,
    complaints: list[str],
) -> float:
    stated = environ.get(name, "")
    if not stated:
        return default
    try:
        value = float(stated)
    except ValueError:
        value = low - 1
    if low <= value <= high:
        return value
    complaints.append(f"{name} must be a number from {low:g} to {high:g}, not {stated!r}")
    return default


def switches_in(text: str) -> dict[str, bool]:
    """The switches that a config.toml turns off which cannot be read as a whole."""
    lines = [line.partition("=") for line in text.splitlines()]
    stated = {name.strip(): value.strip() for name, sign, value in lines if sign}
    return {name: False for name in PARTS if not stated.get(name, "true").startswith("true")}


def _switch(file: Mapping[str, Any], name: str, complaints: list[str]) -> bool:
    """Whether a switch is on. Who wrote something else than true or false wanted a change: off."""
    value = file.get(name, True)
    if not isinstance(value, bool):
        complaints.append(f"config.toml: {name} must be true or false, not {value!r}; it is off")
    return value is True


def _choice(
    table: Mapping[str, Any], name: str, choices: tuple[str, ...], complaints: list[str]
) -> str:
    value = table.get(name, choices[0])
    if value in choices:
        return str(value)
    complaints.append(f"config.toml: {name} must be one of {', '.join(choices)}, not {value!r}")
    return choices[0]


def _whole(
    table: Mapping[str, Any], place: str, default: int, most: int, complaints: list[str]
) -> int:
    """A whole number from 1 under the last part of its place."""
    value = table.get(place.rpartition(".")[2], default)
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
        return value
    complaints.append(
        f"config.toml: {place} must be a whole number from 1 to {most}, not {value!r}"
    )
    return default


def _days(episodes: Mapping[str, Any], complaints: list[str]) -> int:
    value = episodes.get("keep_days", 90)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 36500:
        return value
    complaints.append(f"config.toml: episodes.keep_days must be whole days from 0, not {value!r}")
    return 90
