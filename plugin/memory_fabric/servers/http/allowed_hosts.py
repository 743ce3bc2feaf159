"""The host names that the server answers to: its address, those of this machine, allowed ones."""

from collections.abc import Sequence

from memory_fabric.errors import BadInput

HTTP_PORT = 80
LOCAL = ("127.0.0.1", "[::1]", "localhost")
SCHEMES = ("http://", "https://")


class Names:
    """Host headers and origins that are our own.

    `host` is the address as a URL has it, `port` 0 for a Unix socket: no browser reaches one, and
    clients write any port there. An allowed name counts without a port (behind TLS) and with ours,
    or exactly as it is written where it has a port. Raises BadInput for what is no name.
    """

    def __init__(self, host: str, port: int, allowed: Sequence[str] = ()) -> None:
        own = {*LOCAL, host.lower()}
        stated = checked(allowed)
        self._any_port = frozenset(own | stated) if not port else frozenset()
        self._hosts = {f"{name}:{port}" for name in own | stated if not _has_port(name)} | stated
        self._hosts |= own if port == HTTP_PORT else set()
        self._origins = {f"http://{name}" for name in self._hosts}
        self._origins |= {f"{scheme}{name}" for name in stated for scheme in SCHEMES}

    def fit_host(self, hosts: Sequence[str]) -> bool:
        """Return True if there is exactly one Host header, with an allowed name."""
        if len(hosts) != 1:
            return False
        host = hosts[0].lower()
        return host in self._hosts or (bool(self._any_port) and _bare(host) in self._any_port)

    def fit_origins(self, origins: Sequence[str]) -> bool:
        """Return True if there is no Origin header, or only an allowed one."""
        return all(origin.lower() in self._origins for origin in origins)


def checked(allowed: Sequence[str]) -> set[str]:
    """Allowed names as they are compared. Raises BadInput for what is no name."""
    return {_checked(name) for name in allowed}


def _checked(name: str) -> str:
    bare, _, port = name.rpartition(":") if _has_port(name) else (name, "", "")
    fits = bare.strip("[]") and not set(bare) & set("/\\@?#*, ") and bare.isascii()
    if not fits or (port and not port.isdigit()):
        raise BadInput(
            "--allow-host",
            f"{name!r} is not a valid name for a Host header.",
            remedy="Write it as memory.example.org, without https:// and path.",
        )
    return name.lower()


def _has_port(name: str) -> bool:
    return ":" in name.rpartition("]")[2]


def _bare(host: str) -> str:
    return host.rpartition(":")[0] if _has_port(host) else host
