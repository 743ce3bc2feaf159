"""The ingest endpoint's protocol, shared by senders and the server: path, fields and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

PATH = "/v1/memory/ingest"
BETWEEN = "---"  # the line between two messages in an ingested text
MAX_NAME_CHARS, MAX_DECISIONS, MAX_DECISION_CHARS = 256, 100, 4000


class Ingest(NamedTuple):
    """A text to ingest, with optional facts about it from the sender; times are ISO 8601."""

    session_summary: str
    key_decisions: tuple[str, ...] = ()
    domain: str = "session"
    source_model: str = "claude-code-hook"
    confidence: float = 0.8
    project: str = ""
    session_id: str = ""
    idempotency_key: str = ""
    created_at: str = ""


LEFT_OUT = Ingest("")


def read_address(
    environ: Mapping[str, str], names: Iterable[tuple[str, str]], complaints: list[str]
) -> tuple[str, str]:
    """Return the receiver's URL and key, from the first pair of variables in `names` whose address
    is set. Return ('', '') if none is set, or if a value is invalid (reported in `complaints`).
    """
    for address, secret in names:
        if not environ.get(address):
            continue
        url, wrong = ingest_address(environ[address].strip())
        key = environ.get(secret, "").strip()
        if wrong:
            complaints.append(f"{address} {wrong}; nothing is forwarded")
        elif any(not "!" <= c <= "~" for c in key):
            wrong = "contains a character that is invalid in a key"
            complaints.append(f"{secret} {wrong}; nothing is forwarded")
        else:
            return url, key
        return "", ""
    return "", ""


def ingest_address(text: str) -> tuple[str, str]:
    """Return (URL, '') for a valid address or ('', problem). PATH replaces an empty path or `/`."""
    scheme, sign, address = text.partition("://")
    scheme = scheme.lower()
    if not sign or scheme not in ("http", "https"):
        return "", "must begin with http:// or https://"
    if any(not "!" <= c <= "~" for c in text):
        return "", "contains a character that is invalid in an address"
    end = min((at for at in map(address.find, "/?#") if at >= 0), default=len(address))
    host, path = address[:end], address[end:]
    if "@" in host:
        return "", "must not contain a name or a password: put the key into its own variable"
    if "#" in path:
        return "", "must not contain a #"
    if not _names_host(host):
        return "", "has no host, or an invalid port"
    query = path[path.find("?") :] if "?" in path else ""
    path = PATH + query if path.removesuffix(query) in ("", "/") else path
    return f"{scheme}://{host.lower()}{path}", ""


def _names_host(text: str) -> bool:
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
