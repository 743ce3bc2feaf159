"""Attempts to read, write or change what the schema guards; each returns True if it succeeds."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import LiteralString

import psycopg

from memory_fabric.sharing.replica.wire import Position
from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.server.log import SharedLog
from team.conftest import SPACE
from team.operations import operation
from team.postgres import ANN, BOB, EVE, OWNER, SUPERUSER, Cluster

# EVE owns it, so that she has every right of a member, but is none of SPACE.
OTHER = "another"
PAYLOAD = json.dumps({"v": 1, "key": "o:forged", "base": [], "value": {"text": "forged"}})
INSERT = "INSERT INTO memory_fabric.operations ({}) SELECT {}"
# As the server itself would write it, were it ANN who says this next.
GIVEN = {
    "space": f"'{SPACE}'",
    "seq": f"1 + (SELECT last_seq FROM memory_fabric.spaces WHERE space = '{SPACE}')",
    "op_id": "gen_random_uuid()",
    "author": f"'{ANN}'",
    "origin": "'m'",
    "kind": "'observation'",
    "key": "'o:forged'",
    "base": "ARRAY[]::uuid[]",
    "payload": f"'{PAYLOAD}'",
    "made_at": "now()",
    "stored_at": "now()",
    "tx": "(extract(epoch FROM now()) * 1000000)::bigint",
    "superseded": "false",
}
APPEND = (
    f"SELECT memory_fabric.append('{SPACE}', ARRAY[gen_random_uuid()], ARRAY['m'],"
    f" ARRAY['observation'], ARRAY['{PAYLOAD}'], ARRAY[now()])"
)
INSIDE = "SET search_path = pg_catalog, pg_temp"

Open = Callable[[str], Connection]
Attempt = Callable[[Open], bool]


def fill(postgres: Cluster, database: str, open_connection: Open) -> None:
    """Make the space OTHER, and let somebody say and read something in both."""
    with closing(postgres.connect(SUPERUSER, database)) as superuser:
        superuser.execute("SELECT memory_fabric.create_space(%s)", (OTHER,))
        superuser.execute("SELECT memory_fabric.admit(%s, %s, 'owner')", (OTHER, EVE))
    for member, space in ((OWNER, SPACE), (ANN, SPACE), (EVE, OTHER)):
        log = SharedLog(open_connection(member), space)
        log.push([operation(f"of {member}", key=f"o:{member}")])
        log.pull(Position())


def succeeds(user: str, *statements: LiteralString) -> Attempt:
    """Return an attempt by a role that succeeds if the last statement finds or changes a row."""

    def attempt(open_connection: Open) -> bool:
        connection = open_connection(user)
        try:
            for statement in statements:
                done = connection.execute(statement)
        except psycopg.Error:
            return False
        # TRUNCATE and functions without rows count as done; they would have been refused.
        return done.rowcount != 0

    return attempt


def inserts(column: str = "", value: str = "", user: str = ANN) -> Attempt:
    """Return an attempt to insert an operation as ANN's next one, but for a column of choice."""
    values = GIVEN | ({column: value} if column else {})
    statement = INSERT.format(", ".join(values), ", ".join(values.values()))

    def attempt(open_connection: Open) -> bool:
        try:
            open_connection(user).execute(statement.encode())
        except psycopg.Error:
            return False
        return True

    return attempt


# What a right to insert would not give, either.
FORGED = {
    "author": f"'{BOB}'",
    "tx": "4611686018427387904",
    "seq": "4611686018427387904",
    "key": "'o:another'",
    "superseded": "true",
    "stored_at": "'2001-01-01'::timestamptz",
}

SELECT_OTHER = f"SELECT 1 FROM memory_fabric.{{}} WHERE space = '{OTHER}'"
CHANGE = "UPDATE memory_fabric.operations SET payload = jsonb_set(payload, '{value}', '{}')"
ATTEMPTS: dict[str, Attempt] = {
    "a member reads another space": succeeds(ANN, SELECT_OTHER.format("operations")),
    "a member learns of another space": succeeds(ANN, SELECT_OTHER.format("spaces")),
    "a member learns who is in another space": succeeds(ANN, SELECT_OTHER.format("members")),
    "a member learns who read another space": succeeds(ANN, SELECT_OTHER.format("seen")),
    "a member appends to another space": succeeds(EVE, APPEND),
    "a member inserts an operation": inserts(),
    "the schema's owner inserts an operation": inserts("author", f"'{OWNER}'", OWNER),
    "a member changes an operation": succeeds(ANN, CHANGE),
    "a member deletes an operation": succeeds(ANN, "DELETE FROM memory_fabric.operations"),
    "a member empties the log": succeeds(ANN, "TRUNCATE memory_fabric.operations"),
    "a member makes a space": succeeds(ANN, "SELECT memory_fabric.create_space('mine')"),
    "a member grants rights": succeeds(ANN, f"SELECT memory_fabric.grant_to('{EVE}')"),
    "a member begins an epoch": succeeds(ANN, "SELECT memory_fabric.renew()"),
    "a member adds a member": succeeds(
        ANN, f"SELECT memory_fabric.admit('{SPACE}', '{EVE}', 'member')"
    ),
    "a member removes a member": succeeds(ANN, f"SELECT memory_fabric.dismiss('{SPACE}', '{BOB}')"),
    "a member makes himself an owner": succeeds(
        ANN, f"UPDATE memory_fabric.members SET role = 'owner' WHERE member = '{ANN}'"
    ),
    "an owner of one space adds a member to another": succeeds(
        EVE, f"SELECT memory_fabric.admit('{SPACE}', '{EVE}', 'member')"
    ),
    "an owner of one space purges in another": succeeds(
        EVE, f"SELECT memory_fabric.purge('{SPACE}', ARRAY['o:{ANN}'])"
    ),
    "the schema's owner reads another space": succeeds(OWNER, SELECT_OTHER.format("operations")),
    "the schema's owner marks operations": succeeds(
        OWNER, "UPDATE memory_fabric.operations SET superseded = true"
    ),
    "the schema's owner changes operations": succeeds(OWNER, INSIDE, CHANGE),
    "the schema's owner deletes operations": succeeds(
        OWNER, INSIDE, "DELETE FROM memory_fabric.operations"
    ),
    "the schema's owner empties the log": succeeds(OWNER, "TRUNCATE memory_fabric.operations"),
}
