"""Connections to the server of a shared log."""

from typing import Any, TypeAlias

import psycopg

from memory_fabric.sharing.server import address
from memory_fabric.sharing.server.translate import translated
from memory_fabric.sharing.team.errors import ServerTooOld

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

OLDEST_VERSION = 140000
# libpq itself waits at least two seconds.
CONNECT_TIMEOUT_S = 5


def connect(
    dsn: str,
    *,
    timeout_s: int = CONNECT_TIMEOUT_S,
    insecure: bool = False,
    application: str = "memory-fabric",
) -> Connection:
    """Connect by libpq's own rules; raise TeamError with a remedy if that fails.

    The connection commits each statement by itself and prepares none, so that a pooler between
    (PgBouncer) does no harm.
    """
    place = address.shown(dsn)
    conninfo = address.checked(dsn, insecure=insecure)
    with translated(f"Cannot connect to {place}"):
        connection: Connection = psycopg.connect(
            conninfo,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=max(2, timeout_s),
            application_name=application,
            client_encoding="UTF8",
            # A peer that vanished is noticed after half a minute, also while an answer is awaited.
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            tcp_user_timeout=30_000,
        )
    try:
        expect_version(connection.info.server_version)
    except BaseException:
        connection.close()
        raise
    return connection


def expect_version(version: int) -> None:
    """Raise ServerTooOld for a server's version number (150004 is 15.4) before the oldest one."""
    if version < OLDEST_VERSION:
        raise ServerTooOld(
            f"The server is PostgreSQL {version // 10000}.",
            remedy=f"A shared log needs PostgreSQL {OLDEST_VERSION // 10000} or newer.",
        )
