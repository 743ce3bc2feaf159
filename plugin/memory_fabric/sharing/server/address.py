"""Connection strings: no password in them, no unencrypted way to another host."""

import configparser
import ipaddress
import os
from collections.abc import Mapping

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memory_fabric.sharing.team.errors import BadAddress, DsnHoldsPassword, Unencrypted

ENCRYPTED = ("require", "verify-ca", "verify-full")
PASSWORD_REMEDY = (
    "Take it out of the address and keep it where libpq looks: ~/.pgpass (mode 0600), a service in"
    " ~/.pg_service.conf, or PGPASSFILE, PGSERVICE, PGPASSWORD."
)

USUAL_PORT = "5432"


def checked(dsn: str, *, insecure: bool = False) -> str:
    """Return the connection string to use; raise BadAddress if it must not be used.

    Encryption is required of every host but this machine, unless `insecure`: it is asked for where
    nothing says how, and refused where something asks for less.
    """
    given = _parsed(dsn)
    if given.get("password"):
        raise DsnHoldsPassword("The address holds a password.", remedy=PASSWORD_REMEDY)
    known = {**_from_environment(), **_of_service(given), **given}
    if insecure or _is_local(known):
        return dsn
    mode = known.get("sslmode")
    if mode is None:
        return make_conninfo(dsn, sslmode="require")
    if mode not in ENCRYPTED:
        raise Unencrypted(
            f"sslmode={mode} may send everything to {known.get('host')} unencrypted.",
            remedy="Use sslmode=require or verify-full, or say --insecure on purpose.",
        )
    return dsn


def shown(dsn: str) -> str:
    """Return "role@host:port/database" for messages; never a password, and no usual port."""
    try:
        given = _parsed(dsn)
    except BadAddress:
        return "the server"
    known = {**_from_environment(), **_of_service(given), **given}
    host = known.get("host") or known.get("hostaddr") or "this machine"
    user = f"{known['user']}@" if known.get("user") else ""
    database = f"/{known['dbname']}" if known.get("dbname") else ""
    port = known.get("port") or USUAL_PORT
    place = f"[{host}]" if ":" in host else host
    return f"{user}{place}{database if port == USUAL_PORT else f':{port}{database}'}"


def _parsed(dsn: str) -> dict[str, str]:
    try:
        return {k: str(v) for k, v in conninfo_to_dict(dsn).items() if v is not None}
    except psycopg.Error as error:
        raise BadAddress(
            f"The address is no connection string ({_without_words(error)}).",
            remedy="Write postgresql://ROLE@HOST/DATABASE, or host=HOST dbname=DATABASE user=ROLE.",
        ) from None


def _without_words(error: psycopg.Error) -> str:
    # libpq repeats parts of the string, and with them perhaps a password.
    return str(error).partition('"')[0].strip() or "syntax error"


def _from_environment() -> dict[str, str]:
    names = {"host": "PGHOST", "hostaddr": "PGHOSTADDR", "sslmode": "PGSSLMODE", "user": "PGUSER"}
    return {key: os.environ[name] for key, name in names.items() if os.environ.get(name)}


def _of_service(given: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the named service, from the first file that has it (as libpq)."""
    name = given.get("service") or os.environ.get("PGSERVICE")
    if not name:
        return {}
    own = os.environ.get("PGSERVICEFILE") or os.path.expanduser("~/.pg_service.conf")
    for path in (own, os.path.join(os.environ.get("PGSYSCONFDIR", "/etc"), "pg_service.conf")):
        parser = configparser.RawConfigParser(delimiters=("=",), strict=False)
        try:
            parser.read(path, encoding="utf-8")
        except (configparser.Error, OSError, UnicodeDecodeError):
            continue
        if parser.has_section(name):
            return dict(parser.items(name))
    return {}


def _is_local(known: Mapping[str, str]) -> bool:
    hosts = known.get("hostaddr") or known.get("host") or ""
    return all(map(_is_local_host, hosts.split(",")))


def _is_local_host(host: str) -> bool:
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
