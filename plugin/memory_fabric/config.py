"""The environment and config.toml as one frozen value; no other module reads variables."""

from __future__ import annotations

import os
from _thread import _local
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory_fabric.client import CLAUDE_CODE, Client
from memory_fabric.domain_config import DomainConfig, domain_name, read_domains

# The client's own folder. Memory is in a folder next to it, never in the plugin's folders.
DEFAULT_CONFIG_DIR = "~/.claude"
HOME_NAME = "memory-fabric"
# The file in home that ties projects to shared logs (team.ties).
TIES = "team.json"
OFF_WORDS = frozenset(("off", "0", "false", "no"))
# As Claude Code reads the variables by which it shows its model no MEMORY.md (measured, 2.1.330).
ON_WORDS = frozenset(("on", "1", "true", "yes"))
NO_MEMORY_MD = (
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS",
    "CLAUDE_CODE_REMOTE",
)
# The switches, each of them independent.
PARTS = ("read", "write")
MAX_PRICE = 10_000
# Values of the setting `notes`.
NOTES = ("auto", "on", "off")
# Entry points without a person who reads the answers: programs built on the client's SDK.
SDK = "sdk-"
# Every top-level key of config.toml.
KNOWN = (
    *PARTS,
    *(
        "notices",
        "weekly",
        "notes",
        "share_words",
        "semantic",
        "capture",
        "episodes",
        "serve",
        "agent_terms",
        "domains",
        "agents",
    ),
    "projects",
    "worth",
)
# Variables that the client sets for its hooks and for the commands of its model, surest first.
CLIENT_SIGNS = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID")
# Variables in the shells of other clients' models, by the keys of the clients that may set them.
SHELL_SIGNS = (
    ("CODEX_THREAD_ID", "codex"),
    ("CODEX_SANDBOX", "codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "codex"),
    ("CURSOR_AGENT", "cursor"),
    ("GEMINI_CLI", "gemini qwen"),
    ("QWEN_CODE", "qwen"),
    ("OPENCODE", "opencode"),
)
# The variables of the forward target, each address with its own key: the first that is set wins.
RECEIVERS = (
    ("MEMORY_FABRIC_FORWARD_URL", "MEMORY_FABRIC_FORWARD_KEY"),
    ("MOE_MEMORY_ENDPOINT", "MOE_API_KEY"),
)


class Settings(NamedTuple):
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
    # At most once in seven days a session's start tells the person what became of the week.
    weekly: bool = True
    # What is shared carries the user's own words behind notes.
    share_words: bool = False
    # "auto": the assistant is asked for notes where a person reads its answers.
    notes: str = "auto"
    # How the client was started: "cli", "sdk-py", …
    entrypoint: str = ""
    semantic: bool = True
    # The variable by which Claude Code shows its model no MEMORY.md; empty if it does.
    memory_md_off: str = ""
    memory_file_path: str = ""
    author: str = ""
    origin: str = ""
    user_home: str = ""
    agent_terms: Mapping[str, str] = {}
    domain: str = ""
    domains: DomainConfig = DomainConfig()
    forward_url: str = ""
    forward_key: str = ""
    serve_rate: int = 2000
    serve_backlog: int = 250_000
    # "ask" or "trust": handling of folders that claim to belong to a known project. Only
    # config.toml in the home sets it, since a repository can bring its own variables.
    claims: str = "ask"
    trusted_roots: tuple[str, ...] = ()
    # Dollars for a million tokens of context; 0: none stated.
    token_price: float = 0.0
    # Switched off by the variable MEMORY_FABRIC, regardless of config.toml.
    muted: bool = False
    # The reason why memory is off although its switches are on: config.toml is broken and may
    # isolate an agent.
    closed: str = ""
    complaints: tuple[str, ...] = ()
    client: Client = CLAUDE_CODE
    # The event came from a shell of another client: nothing in it is the user's.
    foreign: bool = False


_of_thread = _local()


def environment() -> Mapping[str, str]:
    """Return the variables of the event that this thread answers, else the process's own."""
    own_environ: Mapping[str, str] | None = getattr(_of_thread, "environ", None)
    return os.environ if own_environ is None else own_environ


class answering:
    """A `with` block in which this thread answers an event that came with these variables."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def __enter__(self) -> None:
        self._before = getattr(_of_thread, "environ", None)
        _of_thread.environ = self._environ

    def __exit__(self, *_error: object) -> None:
        _of_thread.environ = self._before


def home_path(environ: Mapping[str, str]) -> str:
    """Return memory's folder: MEMORY_FABRIC_HOME, else `memory-fabric` in the client's folder."""
    stated = environ.get("MEMORY_FABRIC_HOME", "")
    return _absolute(stated or os.path.join(config_path(environ), HOME_NAME), environ)


def config_path(environ: Mapping[str, str]) -> str:
    """Return the client's own config folder: CLAUDE_CONFIG_DIR, else `~/.claude`."""
    return _absolute(environ.get("CLAUDE_CONFIG_DIR", "") or DEFAULT_CONFIG_DIR, environ)


def transcript_roots(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the folders in which clients keep transcripts, by the clients' keys in
    `clients.transcripts`.
    """
    codex = environ.get("CODEX_HOME", "") or "~/.codex"
    qwen = environ.get("QWEN_RUNTIME_DIR", "") or environ.get("QWEN_HOME", "") or "~/.qwen"
    return {
        "claude-code": os.path.join(config_path(environ), "projects"),
        "codex": _absolute(codex, environ),
        "qwen": os.path.join(_absolute(qwen, environ), "projects"),
    }


def has_display(environ: Mapping[str, str], system: str) -> bool:
    """Return True if a browser started here would have a screen; `system` is `sys.platform`."""
    if environ.get("BROWSER"):
        return True
    if system in ("darwin", "win32"):
        return not environ.get("SSH_CONNECTION")
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def in_client(environ: Mapping[str, str]) -> bool:
    """Return True in a shell that the client started: its model may have written the command."""
    return any(environ.get(sign) for sign in CLIENT_SIGNS)


def in_shell_of_another(environ: Mapping[str, str], key: str) -> bool:
    """Return True for an event of the client `key` in a shell of another client: its model may have
    written it.
    """
    if key != CLAUDE_CODE.key and in_client(environ):
        return True
    return any(environ.get(sign) and key not in keys.split() for sign, keys in SHELL_SIGNS)


def memory_md_off(environ: Mapping[str, str]) -> str:
    """Return the variable by which Claude Code shows its model no MEMORY.md; '' if it does."""
    stated = (name for name in NO_MEMORY_MD if environ.get(name, "").strip().lower() in ON_WORDS)
    return next(stated, "")


def search_path(environ: Mapping[str, str]) -> list[str]:
    """Return the folders in which a shell looks for commands."""
    return [folder for folder in environ.get("PATH", "").split(os.pathsep) if folder]


def read_settings(environ: Mapping[str, str], file: Mapping[str, Any]) -> Settings:
    """Read the settings from variables and the parsed config.toml; a variable wins over the file.

    An unusable value is reported in `complaints`, and its default applies.
    """
    complaints: list[str] = []
    capture, episodes = _table(file, "capture"), _table(file, "episodes")
    complaints += [
        f"config.toml: {key} is unknown; known are {', '.join(KNOWN)}"
        for key in file
        if key not in KNOWN
    ]
    muted = environ.get("MEMORY_FABRIC", "").lower() in OFF_WORDS
    forward_url, forward_key = _receiver(environ, complaints)
    domains = _domains(file, complaints)
    return Settings(
        home=home_path(environ),
        config_dir=config_path(environ),
        plugin_root=environ.get("CLAUDE_PLUGIN_ROOT", "").rstrip("/"),
        data_dir=environ.get("CLAUDE_PLUGIN_DATA", "").rstrip("/"),
        project_dir=environ.get("CLAUDE_PROJECT_DIR", ""),
        session=environ.get("CLAUDE_CODE_SESSION_ID", ""),
        reads=_switch(file, "read", complaints) and not muted,
        writes=_switch(file, "write", complaints) and not muted,
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
        weekly=_on(file, "weekly", complaints),
        share_words=file.get("share_words") is True,
        notes=_notes(environ, file, complaints),
        entrypoint=environ.get("CLAUDE_CODE_ENTRYPOINT", ""),
        semantic=file.get("semantic", True) is not False,
        memory_md_off=memory_md_off(environ),
        memory_file_path=environ.get("MEMORY_FILE_PATH", ""),
        author=environ.get("USER", "") or environ.get("LOGNAME", "") or environ.get("USERNAME", ""),
        origin=os.uname().nodename if hasattr(os, "uname") else environ.get("COMPUTERNAME", ""),
        user_home=_user_home(environ),
        agent_terms={
            str(k): str(v) for k, v in _table(file, "agent_terms").items() if isinstance(v, str)
        },
        domain=_domain(environ, domains, complaints),
        domains=domains,
        forward_url=forward_url,
        forward_key=forward_key,
        serve_rate=_whole(_table(file, "serve"), "serve.rate", 2000, 10**6, complaints),
        serve_backlog=_whole(_table(file, "serve"), "serve.backlog", 250_000, 10**8, complaints),
        claims=_choice(_table(file, "projects"), "claims", ("ask", "trust"), complaints),
        trusted_roots=_roots(_table(file, "projects"), environ, complaints),
        token_price=_price(_table(file, "worth"), complaints),
        muted=muted,
        complaints=tuple(complaints),
    )


def with_changes(settings: Settings, file: Mapping[str, Any], closed: str = "") -> Settings:
    """Return a long-lived process's settings, with the switches and domains read again.

    Everything else keeps its value from the start of the process.
    """
    unheard: list[str] = []  # reported at a start and by status instead
    on = not settings.muted
    return settings._replace(
        reads=_switch(file, "read", unheard) and on,
        writes=_switch(file, "write", unheard) and on,
        domains=_domains(file, unheard),
        closed=closed,
    )


def captures(settings: Settings) -> bool:
    """Return True if anything of this session may be saved or forwarded."""
    if settings.ci or not settings.writes:
        return False
    return settings.attended or settings.capture_unattended != "off"


def trust_for(settings: Settings, stated: str) -> str:
    """Return the trust of text captured here; '' if nothing may be captured.

    Text of unattended sessions has the assistant's trust unless configured, and so has that of a
    foreign event; in CI nothing is saved.
    """
    if not captures(settings):
        return ""
    is_users = settings.attended or settings.capture_unattended == "full"
    return stated if is_users and not settings.foreign else "assistant"


def is_checked(settings: Settings) -> bool:
    """Return True if a person writes the prompts, so that a quotation can earn the user's trust.

    `unattended = "full"` says so of every session; print mode is always an SDK session.
    """
    if trust_for(settings, "user") != "user":
        return False
    return settings.capture_unattended == "full" or not settings.entrypoint.startswith(SDK)


def _notes(environ: Mapping[str, str], file: Mapping[str, Any], complaints: list[str]) -> str:
    stated = environ.get("MEMORY_FABRIC_NOTES", "")
    if stated.lower() in NOTES:
        return stated.lower()
    if stated:
        complaints.append(f"MEMORY_FABRIC_NOTES must be {', '.join(NOTES)}, not {stated!r}")
    return _choice(file, "notes", NOTES, complaints)


def _domain(environ: Mapping[str, str], domains: DomainConfig, complaints: list[str]) -> str:
    """Return the domain of the process; complain if others are isolated and this one is unknown."""
    stated = environ.get("MEMORY_FABRIC_DOMAIN", "")
    name = domain_name(stated)
    if stated and not name:
        complaints.append(f"MEMORY_FABRIC_DOMAIN must be a name, not {stated!r}")
    domain_names = {*domains.isolated, *domains.agents.values(), *domains.paths.values()}
    if name and domains.isolated and name not in domain_names:
        complaints.append(
            f"MEMORY_FABRIC_DOMAIN is {name}, but config.toml has no such domain: "
            "nothing is isolated"
        )
    return name


def _roots(
    table: Mapping[str, Any], environ: Mapping[str, str], complaints: list[str]
) -> tuple[str, ...]:
    """Return the folders whose clones are trusted: absolute paths, or paths below `~`."""
    stated = table.get("roots", [])
    listed = stated if isinstance(stated, list) else [stated]
    fit = [p for p in listed if isinstance(p, str) and (os.path.isabs(p) or p[:2] in ("~", "~/"))]
    complaints += [
        f"config.toml: projects.roots must be a list of whole paths, not {part!r}"
        for part in listed
        if part not in fit
    ]
    return tuple(_absolute(path, environ) for path in fit)


def _receiver(environ: Mapping[str, str], complaints: list[str]) -> tuple[str, str]:
    if not any(environ.get(address) for address, _ in RECEIVERS):
        return "", ""
    from memory_fabric.ingest_protocol import read_address  # late: only if a target is set

    return read_address(environ, RECEIVERS, complaints)


def _user_home(environ: Mapping[str, str]) -> str:
    return environ.get("HOME", "") or os.path.expanduser("~")


def _absolute(path: str, environ: Mapping[str, str]) -> str:
    """Resolve a path that is relative or begins with `~` from the user's home.

    A hook's working directory changes with `cd`.
    """
    home = _user_home(environ)
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.normpath(os.path.join(home, path))


def _table(file: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = file.get(name, {})
    return table if isinstance(table, dict) else {}


def _price(table: Mapping[str, Any], complaints: list[str]) -> float:
    """Return the price of a million tokens; 0 for none."""
    stated = table.get("price", 0.0)
    if type(stated) in (int, float) and 0 <= stated <= MAX_PRICE:
        return float(stated)
    complaints.append(
        f"config.toml: worth.price must be a number from 0 to {MAX_PRICE}, not {stated!r}"
    )
    return 0.0


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
    """Return the switches that an otherwise unreadable config.toml turns off."""
    lines = [line.partition("=") for line in text.splitlines()]
    stated = {name.strip(): value.strip() for name, sign, value in lines if sign}
    return {name: False for name in PARTS if not stated.get(name, "true").startswith("true")}


def may_isolate(text: str) -> bool:
    """Return True if an unreadable config.toml may isolate a domain or an agent.

    It does if it says `isolate` with any value but false.
    """
    lines_after = [part.lstrip(" \t'\"") for part in text.split("isolate")[1:]]
    return any(part[:1] != "=" or not _is_false(part[1:].lstrip(" \t")) for part in lines_after)


def _is_false(value: str) -> bool:
    return value.startswith("false") and not value[5:6].isalnum()


def _domains(file: Mapping[str, Any], complaints: list[str]) -> DomainConfig:
    return (
        read_domains(file, complaints) if "domains" in file or "agents" in file else DomainConfig()
    )


def _switch(file: Mapping[str, Any], name: str, complaints: list[str]) -> bool:
    """Return the value of a switch; any value but true or false counts as off, with a complaint."""
    value = file.get(name, True)
    if not isinstance(value, bool):
        complaints.append(f"config.toml: {name} must be true or false, not {value!r}; it is off")
    return value is True


def _on(file: Mapping[str, Any], name: str, complaints: list[str]) -> bool:
    """Return the value of a setting that is on unless it is false."""
    value = file.get(name, True)
    if not isinstance(value, bool):
        complaints.append(f"config.toml: {name} must be true or false, not {value!r}")
    return value is not False


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
    """Return the whole number, from 1 to `most`, under the last part of `place`."""
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
