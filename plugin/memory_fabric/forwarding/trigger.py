"""The part of forwarding that runs in hooks: it starts the sender if an item is due.

hook ── spool.add ──▶ forward/   ── start() ──▶ detached sender ── POST ──▶ the receiver
"""

import time
from collections.abc import Callable

from memory_fabric import config, ids, processes
from memory_fabric.store.home import log
from memory_fabric.store.queues import spool

LOOPBACK = frozenset(("localhost", "::1"))


def receipts(settings: config.Settings) -> tuple[Callable[[], None], ...]:
    """Return a task for after the reply, which starts the sender if an item is due; () if off."""
    if not settings.forward_url or not config.captures(settings):
        return ()

    def start_when_due() -> None:
        if spool.is_due(settings.home, settings.forward_url, time.time()):
            start(settings)

    return (start_when_due,)


def start(settings: config.Settings) -> int:
    """Start the sender as a detached process that outlives the session; return its process id."""
    own = {"MEMORY_FABRIC_HOME": settings.home, "MEMORY_FABRIC_FORWARD_URL": settings.forward_url}
    own["MEMORY_FABRIC_FORWARD_KEY"] = settings.forward_key
    return processes.start("forwarding.sender", {**config.environment(), **own})


def news(settings: config.Settings) -> str:
    """Return a notice about forwarding, once per receiver and only if a person attends; or ''."""
    url = settings.forward_url
    if not settings.attended or not config.captures(settings):
        return ""  # nobody would see the notice, or nothing is forwarded
    if not log.is_first_time(settings.home, f"receiver-{ids.checksum(url):08x}-{len(url)}"):
        return ""
    return (
        f"what the assistant says here is forwarded to {spool.shown(url)}, without secrets and "
        "private parts; docs/forwarding.md lists what is sent, and how to stop it"
    )


def host_of(url: str) -> str:
    """Return the host in a URL, with the port if the URL has one."""
    return url.partition("://")[2].partition("/")[0].partition("?")[0]


def is_loopback(url: str) -> bool:
    """Return True if the host in a URL is this machine."""
    host = host_of(url)
    if not host.endswith("]"):
        name, sign, port = host.rpartition(":")
        host = name if sign and port.isdigit() else host
    name = host.strip("[]")
    return name in LOOPBACK or (name.startswith("127.") and name.replace(".", "").isdigit())


def is_plain(url: str) -> bool:
    """Return True if data for a URL is sent unencrypted: by http, to another machine."""
    return url.startswith("http:") and not is_loopback(url)
