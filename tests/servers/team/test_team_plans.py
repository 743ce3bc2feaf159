"""The plan of each statement of a recall on a space of 16,000 rows, as it was carried out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any, NamedTuple

import psycopg
import pytest

from memory_fabric.config import read_settings
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.servers.http import team_access as access
from memory_fabric.servers.http.team_memory import TeamMemory
from memory_fabric.servers.http.team_reader import TeamReader
from memory_fabric.servers.http.team_words import Vocabulary
from team.conftest import SPACE, make_space
from team.postgres import ANN, SUPERUSER, Cluster

# As many at a time as an exchange sends.
ROWS, BATCH = 16_000, 500
# What one node may look at: the rows that are ranked, and some more.
MOST_ROWS = 5_500
NOW = "2027-03-01T10:00:00.000Z"
BIG = ("heads", "names", "operations")
QUESTIONS = (
    "How does the mirror part17 handle thing3 of ticket1234?",  # rare words, and common ones
    "What do the gateway retries do?",  # words of most rows
    "Which entities does service26 relate to, and what is mirrored in service18?",
    "How is service41 related to service42?",
    "",
)
# Of ten operations six are records, two entities, one an observation and one a relation.
FILL = """
    SELECT memory_fabric.append(%s, ids, origins, kinds, payloads, times) FROM (
    SELECT array_agg(gen_random_uuid()) AS ids, array_agg(''::text) AS origins,
        array_agg(kind) AS kinds, array_agg(now()) AS times, array_agg(jsonb_build_object(
        'v', 1, 'base', '[]'::jsonb, 'clock', to_char(n, 'FM0000000000'),
        'key', left(kind, 1) || ':' || id, 'value', value || jsonb_build_object(
            'created_at', '2027-01-01T00:' || to_char(n / 1000, 'FM00') || ':00.'
                || to_char(n %% 1000, 'FM000') || 'Z'))::text) AS payloads
    FROM generate_series(%s::int, %s::int) AS n,
    LATERAL (SELECT '00000000-0000-7000-8000-' || to_char(n, 'FM000000000000') AS id) AS i,
    LATERAL (
        SELECT (ARRAY['record', 'entity', 'observation', 'relation'])[
            CASE WHEN n %% 10 < 6 THEN 1 ELSE n %% 10 / 2 - 1 + (n %% 10) / 9 END] AS kind) AS k,
    LATERAL (SELECT CASE kind
        WHEN 'record' THEN jsonb_build_object('id', id, 'type', 'note', 'scope', 'team', 'what',
            format('The gateway retries thing%%s of part%%s for ticket%%s', n %% 7, n %% 50, n))
        WHEN 'entity' THEN jsonb_build_object('name', 'service' || n, 'type', 'service')
        WHEN 'observation' THEN jsonb_build_object(
            'entity', 'service' || n %% 100, 'text', 'part' || n %% 50 || ' is mirrored')
        ELSE jsonb_build_object('from', 'service' || n %% 300, 'to', 'service' || n / 9,
            'relationType', 'calls') END AS value) AS v) AS given
"""


class Node(NamedTuple):
    """A node of a plan that reads a table: how, which index, and how many rows it looked at."""

    kind: str
    table: str
    by: str
    rows: float


@pytest.fixture(scope="module")
def filled(postgres: Cluster) -> Iterator[str]:
    with postgres.database() as database:
        make_space(postgres, database, SPACE)
        with closing(postgres.connect(ANN, database)) as connection:
            for first in range(1, ROWS, BATCH):
                connection.execute(FILL, (SPACE, first, first + BATCH - 1))
        with closing(postgres.connect(SUPERUSER, database)) as connection:
            for table in BIG:
                connection.execute(f"VACUUM ANALYZE memory_fabric.{table}".encode())
        yield database


def nodes_of_recalls(
    connection: psycopg.Connection[tuple[Any, ...]], *, without: str = ""
) -> list[Node]:
    """Return what recalls read of the big tables; without an index that is dropped for it."""
    plans: list[dict[str, Any]] = []

    def note(said: psycopg.errors.Diagnostic) -> None:
        text = said.message_primary or ""
        if "plan:" in text:
            plans.append(json.loads(text[text.index("{") :])["Plan"])

    connection.add_notice_handler(note)
    with connection.transaction(force_rollback=True):
        if without:
            connection.execute(without.encode())
        for name, value in (("log_min_duration", "0"), ("log_analyze", "on"),
                            ("log_nested_statements", "on"), ("log_format", "json")):  # fmt: skip
            connection.execute(f"SET LOCAL auto_explain.{name} = {value}".encode())
        connection.execute("SET LOCAL client_min_messages = log")
        connection.execute(access.ENTER, (ANN, ""))
        settings = read_settings({"HOME": "/nowhere"}, {})
        for question in QUESTIONS:
            memory = TeamMemory(settings, TeamReader(connection, SPACE, ANN, Vocabulary()))
            answer = Fabric(memory, NOW).recall(question)
            assert memory.reader.failed is None
            assert answer.hits or "service" in question
    connection.remove_notice_handler(note)
    return [node for plan in plans for node in _reads(plan)]


def _reads(plan: dict[str, Any]) -> Iterator[Node]:
    table = next((name for name in BIG if str(plan.get("Relation Name")).startswith(name)), "")
    if table and plan["Actual Loops"]:
        kind, index = plan["Node Type"], str(plan.get("Index Name", ""))
        removed = (n for name, n in plan.items() if name.startswith("Rows Removed by"))
        # An index alone is cheap: what counts is the rows themselves.
        looked_at = 0 if kind == "Index Only Scan" else plan["Actual Rows"] + sum(removed)
        yield Node(kind, table, index, looked_at * plan["Actual Loops"])
    for inner in plan.get("Plans", ()):
        yield from _reads(inner)


def too_much(nodes: list[Node]) -> list[Node]:
    """Return the nodes that read a whole table, or more rows than are ranked."""
    return [node for node in nodes if node.kind == "Seq Scan" or node.rows > MOST_ROWS]


@pytest.fixture
def superuser(postgres: Cluster, filled: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with closing(postgres.connect(SUPERUSER, filled)) as connection:
        connection.execute("LOAD 'auto_explain'")
        yield connection


def test_no_sql_statement_of_recall_scans_a_whole_table(
    superuser: psycopg.Connection[tuple[Any, ...]],
) -> None:
    nodes = nodes_of_recalls(superuser)

    assert {node.table for node in nodes} == set(BIG)
    assert too_much(nodes) == []


@pytest.mark.parametrize(
    "drop",
    [
        *(f"DROP INDEX memory_fabric.heads_by_{by}" for by in ("words", "time", "kind", "key")),
        "ALTER TABLE memory_fabric.operations DROP CONSTRAINT operations_once",
    ],
)
def test_recall_reads_too_many_rows_if_one_database_index_is_missing(
    superuser: psycopg.Connection[tuple[Any, ...]], drop: str
) -> None:
    assert too_much(nodes_of_recalls(superuser, without=drop))
