"""Settings as an immutable value, built only here from the environment and config.toml."""

import os
import re
from _thread import _local
from collections.abc import Mapping
from typing import Any, NamedTuple

from memory_fabric.client import CLAUDE_CODE, Client
from memory_fabric.domain_config import DomainConfig, domain_name, read_domains

# Claude Code's own folder. By default, memory's home is in this folder, not in a plugin's folder.
DEFAULT_CONFIG_DIR = "~/.claude"
HOME_NAME = "memory-fabric"
# The file in the home that links projects to team logs (`sharing.team.ties`).
TIES = "team.json"
# The file in the home that lists what an unfinished purge has to erase (store.forget.purge).
PURGING = "purging.json"
OFF_WORDS = frozenset(("off", "0", "false", "no"))
# Values that switch on a variable of NO_MEMORY_MD, as measured in Claude Code 2.1.330.
ON_WORDS = frozenset(("on", "1", "true", "yes"))
NO_MEMORY_MD = (
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY", "CLAUDE_CODE_DISABLE_CLAUDE_MDS", "CLAUDE_CODE_REMOTE",
)  # fmt: skip
PARTS = ("read", "write")  # the two independent on/off switches: for recall, and for capture
MAX_PRICE = 10_000
_of_thread = _local()
NOTES = ("auto", "on", "off")  # the possible values of the setting `notes`
# Prefix of `entrypoint` if an SDK program runs the session (`sdk-py`), perhaps without a person.
SDK = "sdk-"
# The top-level keys allowed in config.toml.
KNOWN = (*PARTS, *"notices weekly notes share_words semantic capture episodes serve".split())
KNOWN += ("agent_terms", "domains", "agents", "projects", "worth")
# Variables that Claude Code sets for hooks and for its model's commands, most reliable first.
CLIENT_SIGNS = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID")
# Variables in the shells of other clients' models, with the keys of the clients that set them.
SHELL_SIGNS = (
    ("CODEX_THREAD_ID", "codex"), ("CODEX_SANDBOX", "codex"),
    ("CODEX_SANDBOX_NETWORK_DISABLED", "codex"), ("CURSOR_AGENT", "cursor"),
    ("GEMINI_CLI", "gemini qwen"), ("QWEN_CODE", "qwen"), ("OPENCODE", "opencode"),
)  # fmt: skip
# Variables for forwarding: the receiver's address and key. The first pair with an address counts.
RECEIVERS = (
    ("MEMORY_FABRIC_FORWARD_URL", "MEMORY_FABRIC_FORWARD_KEY"),
    ("MOE_MEMORY_ENDPOINT", "MOE_API_KEY"),
)


class Settings(NamedTuple):
    """All settings for a run. Paths are absolute; an empty value means "not set"."""

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
    weekly: bool = True  # show a summary at a session's start, at most once in seven days
    share_words: bool = False  # records shared with others include quotations of the user
    notes: str = "auto"  # "auto" asks the assistant for notes only if a person reads the answers
    entrypoint: str = ""  # how the client was started, such as "cli" or "sdk-py"
    semantic: bool = True
    # The name of the set variable that disables MEMORY.md in Claude Code, or ''.
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
    # If a folder's git remote or `.git` file names a known project, "ask" asks the user, and
    # "trust" links the folder. Set only in home's config.toml: a repository can set variables.
    claims: str = "ask"
    trusted_roots: tuple[str, ...] = ()
    token_price: float = 0.0  # dollars per million tokens of context; 0 if not set
    muted: bool = False  # the variable MEMORY_FABRIC switches memory off
    closed: str = ""  # config.toml's error, if memory is off because the file might isolate domains
    complaints: tuple[str, ...] = ()
    client: Client = CLAUDE_CODE
    foreign: bool = False  # started in another client's shell, so a program may write the prompts


def environment() -> Mapping[str, str]:
    """Return the environment of this thread's current `answering` block, or else `os.environ`."""
    own_environ: Mapping[str, str] | None = getattr(_of_thread, "environ", None)
    return os.environ if own_environ is None else own_environ


class answering:
    """A context manager that makes `environment()` return `environ` in this thread."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def __enter__(self) -> None:
        self._before = getattr(_of_thread, "environ", None)
        _of_thread.environ = self._environ

    def __exit__(self, *_error: object) -> None:
        _of_thread.environ = self._before


def home_path(environ: Mapping[str, str]) -> str:
    """Return memory's home: MEMORY_FABRIC_HOME, or `memory-fabric` in Claude Code's folder."""
    stated = environ.get("MEMORY_FABRIC_HOME", "")
    return _absolute(stated or os.path.join(config_path(environ), HOME_NAME), environ)


def config_path(environ: Mapping[str, str]) -> str:
    """Return Claude Code's configuration folder: CLAUDE_CONFIG_DIR, or `~/.claude`."""
    return _absolute(environ.get("CLAUDE_CONFIG_DIR", "") or DEFAULT_CONFIG_DIR, environ)


def transcript_roots(environ: Mapping[str, str]) -> dict[str, str]:
    """Map each client's key to the folder of the client's transcripts."""
    codex = environ.get("CODEX_HOME", "") or "~/.codex"
    qwen = environ.get("QWEN_RUNTIME_DIR", "") or environ.get("QWEN_HOME", "") or "~/.qwen"
    return {
        "claude-code": os.path.join(config_path(environ), "projects"),
        "codex": _absolute(codex, environ),
        "qwen": os.path.join(_absolute(qwen, environ), "projects"),
    }


def has_display(environ: Mapping[str, str], system: str) -> bool:
    """Return True if the user could see a browser opened here; `system` is `sys.platform`."""
    if environ.get("BROWSER"):
        return True
    if system in ("darwin", "win32"):
        return not environ.get("SSH_CONNECTION")
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def in_client(environ: Mapping[str, str]) -> bool:
    """Return True in a shell of Claude Code, where the model may have written the command."""
    return any(environ.get(sign) for sign in CLIENT_SIGNS)


def in_shell_of_another(environ: Mapping[str, str], key: str) -> bool:
    """Return True if variables show that the client `key` was started in another client's shell."""
    if key != CLAUDE_CODE.key and in_client(environ):
        return True
    return any(environ.get(sign) and key not in keys.split() for sign, keys in SHELL_SIGNS)


def memory_md_off(environ: Mapping[str, str]) -> str:
    """Return the name of a set variable that disables MEMORY.md in Claude Code, or ''."""
    stated = (name for name in NO_MEMORY_MD if environ.get(name, "").strip().lower() in ON_WORDS)
    return next(stated, "")


def search_path(environ: Mapping[str, str]) -> list[str]:
    """Return the folders in PATH, where commands are looked up."""
    return [folder for folder in environ.get("PATH", "").split(os.pathsep) if folder]


def read_settings(environ: Mapping[str, str], file: Mapping[str, Any]) -> Settings:
    """Read the settings from the environment and config.toml; invalid values add complaints."""
    complaints: list[str] = []
    read = _Reading(environ, file, complaints)
    unknown = [key for key in file if key not in KNOWN]
    known = ", ".join(KNOWN)
    complaints += [f"config.toml: {key} is unknown; known are {known}" for key in unknown]
    muted = environ.get("MEMORY_FABRIC", "").lower() in OFF_WORDS
    forward_url = forward_key = ""
    if any(environ.get(address) for address, _ in RECEIVERS):
        from memory_fabric.ingest_protocol import read_address  # imported late: rarely needed

        forward_url, forward_key = read_address(environ, RECEIVERS, complaints)
    domains = read_domains(file, complaints)
    return Settings(
        home=home_path(environ),
        config_dir=config_path(environ),
        plugin_root=environ.get("CLAUDE_PLUGIN_ROOT", "").rstrip("/"),
        data_dir=environ.get("CLAUDE_PLUGIN_DATA", "").rstrip("/"),
        project_dir=environ.get("CLAUDE_PROJECT_DIR", ""),
        session=environ.get("CLAUDE_CODE_SESSION_ID", ""),
        reads=read.flag("read") and not muted,
        writes=read.flag("write") and not muted,
        attended=environ.get("CLAUDE_CODE_SESSION_ATTENDED", "1") != "0",
        capture_unattended=read.choice("unattended", ("low", "off", "full"), "capture"),
        ci=environ.get("CI", "").lower() in ("true", "1"),
        dedup_threshold=read.number("MEMORY_FABRIC_DEDUP_THRESHOLD", 0.85, 0.0, 1.0),
        boost_factor=read.number("MEMORY_FABRIC_BOOST_FACTOR", 1.2, 1.0, 10.0),
        max_results=int(read.number("MEMORY_FABRIC_MAX_RESULTS", 20, 1, 1000)),
        max_reply_chars=int(read.number("MEMORY_FABRIC_MAX_REPLY_CHARS", 40_000, 1000, 10**9)),
        episodes_keep_days=int(
            read.limited("episodes.keep_days", 90, 0, 36500, "whole days from 0")
        ),
        notices=read.choice("notices", ("all", "problems", "off")),
        weekly=read.flag("weekly", otherwise=True),
        share_words=file.get("share_words") is True,
        notes=_notes(read),
        entrypoint=environ.get("CLAUDE_CODE_ENTRYPOINT", ""),
        semantic=file.get("semantic", True) is not False,
        memory_md_off=memory_md_off(environ),
        memory_file_path=environ.get("MEMORY_FILE_PATH", ""),
        author=environ.get("USER", "") or environ.get("LOGNAME", "") or environ.get("USERNAME", ""),
        origin=os.uname().nodename if hasattr(os, "uname") else environ.get("COMPUTERNAME", ""),
        user_home=environ.get("HOME", "") or os.path.expanduser("~"),
        agent_terms={k: v for k, v in read.table("agent_terms").items() if isinstance(v, str)},
        domain=_domain(environ, domains, complaints),
        domains=domains,
        forward_url=forward_url,
        forward_key=forward_key,
        serve_rate=int(read.limited("serve.rate", 2000, 1, 10**6)),
        serve_backlog=int(read.limited("serve.backlog", 250_000, 1, 10**8)),
        claims=read.choice("claims", ("ask", "trust"), "projects"),
        trusted_roots=_roots(read),
        token_price=float(
            read.limited("worth.price", 0.0, 0, MAX_PRICE, f"a number from 0 to {MAX_PRICE}")
        ),
        muted=muted,
        complaints=tuple(complaints),
    )


def with_changes(settings: Settings, file: Mapping[str, Any], closed: str = "") -> Settings:
    """Return `settings` with the switches and domains of `file`, the present config.toml, and with
    `closed`, the reason why this file switches memory off, or ''.
    """
    read = _Reading({}, file, [])  # these complaints are discarded
    return settings._replace(
        reads=read.flag("read") and not settings.muted,
        writes=read.flag("write") and not settings.muted,
        domains=read_domains(file, read.complaints),
        closed=closed,
    )


class _Reading:
    """Reads settings. An invalid value counts as not set and adds a complaint to `complaints`."""

    def __init__(
        self, environ: Mapping[str, str], file: Mapping[str, Any], complaints: list[str]
    ) -> None:
        self.environ, self.file, self.complaints = environ, file, complaints

    def table(self, name: str) -> Mapping[str, Any]:
        table = self.file.get(name, {})
        return table if isinstance(table, dict) else {}

    def flag(self, name: str, *, otherwise: bool = False) -> bool:
        """Return a switch's value, by default True. An invalid value counts as `otherwise`."""
        value = self.file.get(name, True)
        if isinstance(value, bool):
            return value
        what = f"config.toml: {name} must be true or false, not {value!r}"
        self.complaints.append(what if otherwise else f"{what}; it is off")
        return otherwise

    def choice(self, name: str, choices: tuple[str, ...], table: str = "") -> str:
        """Return a setting's value, which must be one of `choices`; the first is the default."""
        value = (self.table(table) if table else self.file).get(name, choices[0])
        if value in choices:
            return str(value)
        expected = f"config.toml: {name} must be one of {', '.join(choices)}"
        self.complaints.append(f"{expected}, not {value!r}")
        return choices[0]

    def number(self, variable: str, default: float, low: float, high: float) -> float:
        stated = self.environ.get(variable, "")
        if not stated:
            return default
        try:
            value = float(stated)
        except ValueError:
            value = float("nan")
        if low <= value <= high:
            return value
        expected = f"{variable} must be a number from {low:g} to {high:g}"
        self.complaints.append(f"{expected}, not {stated!r}")
        return default

    def limited(self, place: str, default: float, low: int, most: int, expected: str = "") -> float:
        """Return the number at `place` (`<table>.<key>`), as `default`'s type; `default` if not
        set. If it is no number from `low` to `most`, complain with `expected` and return `default`.
        """
        table, _, key = place.partition(".")
        value = self.table(table).get(key, default)
        if type(value) in (int, type(default)) and low <= value <= most:
            return float(value) if isinstance(default, float) else int(value)
        expected = expected or f"a whole number from {low} to {most}"
        self.complaints.append(f"config.toml: {place} must be {expected}, not {value!r}")
        return default


def captures(settings: Settings) -> bool:
    """Return True if this session's texts may be saved or forwarded."""
    if settings.ci or not settings.writes:
        return False
    return settings.attended or settings.capture_unattended != "off"


def trust_for(settings: Settings, stated: str) -> str:
    """Return the trust for a captured text, or '' if capture is off. The caller suggests the trust
    `stated`. It becomes "assistant" if a program may have written the text, that is, in another
    client's shell, or in an unattended session if `capture_unattended` is not "full".
    """
    if not captures(settings):
        return ""
    is_users = settings.attended or settings.capture_unattended == "full"
    return stated if is_users and not settings.foreign else "assistant"


def is_checked(settings: Settings) -> bool:
    """Return True if a note that quotes the user can get the trust "user" in this session. If an
    SDK program runs the session, this also requires that `capture_unattended` is "full".
    """
    if trust_for(settings, "user") != "user":
        return False
    return settings.capture_unattended == "full" or not settings.entrypoint.startswith(SDK)


def _notes(read: _Reading) -> str:
    stated = read.environ.get("MEMORY_FABRIC_NOTES", "")
    if stated.lower() in NOTES:
        return stated.lower()
    if stated:
        expected = f"MEMORY_FABRIC_NOTES must be {', '.join(NOTES)}"
        read.complaints.append(f"{expected}, not {stated!r}")
    return read.choice("notes", NOTES)


def _domain(environ: Mapping[str, str], domains: DomainConfig, complaints: list[str]) -> str:
    stated = environ.get("MEMORY_FABRIC_DOMAIN", "")
    name = domain_name(stated)
    if stated and not name:
        complaints.append(f"MEMORY_FABRIC_DOMAIN must be a name, not {stated!r}")
    domain_names = {*domains.isolated, *domains.agents.values(), *domains.paths.values()}
    if name and domains.isolated and name not in domain_names:
        problem = "config.toml has no such domain: nothing is isolated"
        complaints.append(f"MEMORY_FABRIC_DOMAIN is {name}, but {problem}")
    return name


def _roots(read: _Reading) -> tuple[str, ...]:
    """Return folders (absolute or `~/…`) where clones join known projects without a question."""
    stated = read.table("projects").get("roots", [])
    listed = stated if isinstance(stated, list) else [stated]
    fit = [p for p in listed if isinstance(p, str) and (os.path.isabs(p) or p[:2] in ("~", "~/"))]
    for part in (part for part in listed if part not in fit):
        problem = f"projects.roots must be a list of whole paths, not {part!r}"
        read.complaints.append(f"config.toml: {problem}")
    return tuple(_absolute(path, read.environ) for path in fit)


def _absolute(path: str, environ: Mapping[str, str]) -> str:
    """Return an absolute path; a relative path starts at the user's home, not a hook's folder."""
    home = environ.get("HOME", "") or os.path.expanduser("~")
    path = home + path[1:] if path == "~" or path.startswith("~/") else path
    return os.path.normpath(os.path.join(home, path))


def switches_in(text: str) -> dict[str, bool]:
    """Return {name: False} for each switch that an unparsable config.toml seems to turn off."""
    lines = [line.partition("=") for line in text.splitlines()]
    stated = {name.strip(): value.strip() for name, sign, value in lines if sign}
    return {name: False for name in PARTS if not stated.get(name, "true").startswith("true")}


def may_isolate(text: str) -> bool:
    """Return True if a config.toml that cannot be parsed sets `isolate` to anything but false."""
    lines_after = [part.lstrip(" \t'\"") for part in text.split("isolate")[1:]]
    return any(not re.match(r"=[ \t]*false(?![^\W_])", part) for part in lines_after)
