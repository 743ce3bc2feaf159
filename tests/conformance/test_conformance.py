"""One set of checks on both stores, and proof that each wall is what keeps its check green."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance import checks
from conformance.checks import CHECKS
from conformance.stores import PostgresStore, SqliteStore, Store
from memory_fabric.errors import FabricError
from memory_fabric.servers.http import team_memory as writes
from memory_fabric.servers.http import team_rows as rows
from memory_fabric.servers.http.team_memory import ORIGIN, UNDOING, Statement, TeamMemory
from memory_fabric.sharing.replica import inbox
from memory_fabric.store import scoped_memory
from memory_fabric.store.forget import purge_rows
from memory_fabric.store.operations import kinds
from memory_fabric.store.operations import others as others_effects
from memory_fabric.store.queries import conditions

Check = Callable[[Store], None]
Patch = pytest.MonkeyPatch
RED = (AssertionError, FabricError)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_store_passes_every_conformance_check(store: Store, check: Check) -> None:
    check(store)


# A wall of the schema, the SQL that removes it, and the check that it keeps. A source is replaced
# by `of -> by` in the function's own text.
DROPPED = {
    "policy domain_read": (
        "DROP POLICY domain_read ON memory_fabric.operations",
        checks.a_domain_shows_nothing_else,
    ),
    "policy members_read": (
        "DROP POLICY members_read ON memory_fabric.operations; "
        "CREATE POLICY members_read ON memory_fabric.operations FOR SELECT USING (true)",
        checks.a_stranger_reads_nothing,
    ),
    "trigger drop_heads": (
        "DROP TRIGGER drop_heads ON memory_fabric.operations",
        checks.a_purge_leaves_no_word,
    ),
}
REPLACED = {
    "search in a domain": (
        "is_visible",
        "domain_of_caller() IN ('', in_domain)",
        "domain_of_caller() IS NOT NULL",
        checks.a_domain_knows_no_other_words,
    ),
    "own register of an author": (
        "put",
        "AND o.author = me",
        "",
        checks.a_forged_withdrawal_does_nothing,
    ),
    "blank payloads of a purge": (
        "blank",
        "jsonb_build_object(",
        "payload || jsonb_build_object(",
        checks.a_purge_leaves_no_word,
    ),
    "a purge of one's own": (
        "purge",
        "author = me",
        "true",
        checks.others_purge_nothing,
    ),
    "words of both forms": (
        "words_of",
        "pg_catalog.english",
        "pg_catalog.simple",
        checks.other_forms_of_words_are_found,
    ),
}


@pytest.mark.parametrize("wall", DROPPED)
def test_conformance_checks_detect_a_removed_schema_rule(
    own_postgres_store: PostgresStore, wall: str
) -> None:
    sql, check = DROPPED[wall]
    own_postgres_store.alter(sql)

    with pytest.raises(RED):
        check(own_postgres_store)


@pytest.mark.parametrize("wall", REPLACED)
def test_conformance_checks_detect_a_removed_condition_in_an_sql_function(
    own_postgres_store: PostgresStore, wall: str
) -> None:
    function, of, by, check = REPLACED[wall]
    source = own_postgres_store.source(function)
    assert of in source
    own_postgres_store.alter(source.replace(of, by))

    with pytest.raises(RED):
        check(own_postgres_store)


def test_conformance_checks_detect_unmarked_statements_of_other_authors(
    postgres_store: PostgresStore, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(rows, "FOREIGN", rows.BY_TOOL)

    with pytest.raises(RED):
        checks.what_others_say_is_marked(postgres_store)


def test_conformance_checks_detect_writes_into_another_domain(
    own_postgres_store: PostgresStore, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(TeamMemory, "domain_of", lambda _, stated: stated)

    # The policies of the database refuse what the server no longer corrects.
    with pytest.raises(FabricError):
        checks.a_domain_is_written_only_to_itself(own_postgres_store)
    own_postgres_store.alter("DROP POLICY domain_read ON memory_fabric.operations")
    source = own_postgres_store.source("append")
    assert "domain <> ''" in source
    own_postgres_store.alter(source.replace("domain <> ''", "false"))
    with pytest.raises(AssertionError):
        checks.a_domain_is_written_only_to_itself(own_postgres_store)


@pytest.mark.parametrize(
    "check", [checks.undo_restores_what_was_taken_back, checks.undo_restores_what_was_replaced]
)
def test_conformance_checks_detect_an_undo_that_does_not_restore_the_old_value(
    postgres_store: PostgresStore, monkeypatch: Patch, check: Check
) -> None:
    append = writes.append

    def withdraw(memory: TeamMemory, statements: list[Statement], origin: str = ORIGIN) -> None:
        withdrawn = [statement._replace(value=None) for statement in statements]
        append(memory, withdrawn if origin == UNDOING else statements, origin)

    monkeypatch.setattr(writes, "append", withdraw)

    with pytest.raises(RED):
        check(postgres_store)


# A wall of the local store: the module and the function that stands for it, what is done instead,
# and the check that it keeps.
LOCAL = {
    "views of a domain": (
        scoped_memory,
        "selects",
        lambda *_args, **_options: {},
        checks.a_domain_shows_nothing_else,
    ),
    "words of a domain": (
        scoped_memory,
        "selects",
        lambda *_args, **_options: {},
        checks.a_domain_knows_no_other_words,
    ),
    "writes of a domain": (
        scoped_memory.ScopedMemory,
        "_limited",
        lambda _memory, _kind, payload, by: (payload, by),
        checks.a_domain_is_written_only_to_itself,
    ),
    "scope of a session": (
        conditions,
        "of_records",
        lambda *_: conditions.Condition(),
        checks.local_records_stay_with_their_session,
    ),
    "marks of authors": (
        others_effects,
        "TRUST",
        "user",
        checks.what_others_say_is_marked,
    ),
    "own register of an author": (
        inbox,
        "_Read",
        lambda came, _own, read=inbox._Read: read(came, came),
        checks.a_forged_withdrawal_does_nothing,
    ),
    "rows of a purge": (
        purge_rows,
        "scrub",
        lambda _database, _c, target, _by: (0, target),
        checks.a_purge_leaves_no_word,
    ),
    "steps of an undo": (
        kinds,
        "read_inverse",
        lambda *_: [],
        checks.undo_restores_what_was_replaced,
    ),
}


@pytest.mark.parametrize("wall", LOCAL)
def test_conformance_checks_detect_missing_isolation_in_the_local_store(
    sqlite_store: SqliteStore, monkeypatch: Patch, wall: str
) -> None:
    module, name, instead, check = LOCAL[wall]
    monkeypatch.setattr(module, name, instead)

    with pytest.raises(RED):
        check(sqlite_store)
