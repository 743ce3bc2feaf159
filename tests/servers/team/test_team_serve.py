"""`serve --team` as a process: keys, tools, ingest, the page, and what goes wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from memory_fabric.sharing.server import spaces
from memory_fabric.sharing.server.connect import connect
from memory_fabric.sharing.server.spaces import add, remove
from servers.team.serving import Served, command, new_key, served_environ, serving
from team.conftest import SPACE
from team.postgres import ANN, BOB, OWNER, SUPERUSER, Cluster
from waiting import until


class Team:
    """A running server with a key of ANN, one of BOB, and one of BOB's for the domain legal."""

    def __init__(self, cluster: Cluster, database: str, home: Path) -> None:
        self.cluster, self.database, self.home = cluster, database, home
        self.dsn = cluster.dsn(OWNER, database)
        with closing(connect(self.dsn)) as connection:
            spaces.init(connection, SPACE)
            for member in (ANN, BOB):
                add(connection, SPACE, member)
        self.ann, self.bob = (new_key(self.dsn, SPACE, one) for one in (ANN, BOB))
        self.legal = new_key(self.dsn, SPACE, BOB, "legal", "legal")


@pytest.fixture(scope="module")
def team(postgres: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    with postgres.database() as database:
        yield Team(postgres, database, tmp_path_factory.mktemp("home"))


def arguments_of_all_processes() -> str:
    """Return the arguments of all processes, as `ps` shows them to every user, but not those of
    PostgreSQL, which name the database of each connection.
    """
    shown = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # the process has ended meanwhile
            shown.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    return "\n".join(words for words in shown if not words.startswith("postgres: "))


@pytest.fixture(scope="module")
def server(team: Team) -> Iterator[Served]:
    with serving(team.home, team.dsn, team.ann) as served:
        yield served


def test_an_api_key_is_shown_only_when_created_and_not_stored_in_plain_text(team: Team) -> None:
    more = ("--team", team.dsn, "--member", ANN)
    made = command(team.home, "laptop", "--new-key", *more)
    listed = command(team.home, "--list-keys", "--team", team.dsn).out
    with closing(team.cluster.connect(SUPERUSER, team.database)) as connection:
        (kept,) = connection.execute(
            "SELECT string_agg(k::text, ' ') FROM memory_fabric.keys k"
        ).fetchall()

    assert [line.split()[:2] for line in listed.splitlines()] == [
        [ANN, ANN],
        [BOB, BOB],
        ["legal", BOB],
        ["laptop", ANN],
    ]
    assert made.out.strip() not in f"{listed} {kept[0]}"


@pytest.mark.parametrize("option", ["--team {}", "--team={}"])
def test_no_process_list_shows_the_address_of_the_database(team: Team, option: str) -> None:
    words = [
        *option.replace(" ", "\n").format(team.dsn).split("\n"),
        "--workers",
        "2",
        "--port",
        "0",
    ]
    command = [sys.executable, "-m", "memory_fabric.cli", "serve", *words]
    environ = served_environ(team.home)
    with subprocess.Popen(command, env=environ, cwd=team.home, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            first = server.stdout.readline()
            shown = arguments_of_all_processes()
        finally:
            server.terminate()

    assert b"http://" in first
    assert option.format("HIDDEN") in shown
    assert team.database not in shown


@pytest.mark.parametrize("path", ["v1/memory/recall?q=x", "api/picture", ""])
@pytest.mark.parametrize("key", ["", "wrong", "x" * 300])
def test_requests_without_a_valid_key_are_refused(server: Served, path: str, key: str) -> None:
    answer = server.get(path, key)

    assert answer.status == 401
    assert "key" in str(answer.body)


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "tools/call"])
def test_mcp_refuses_an_unknown_key_with_401(server: Served, method: str) -> None:
    params: dict[str, Any] = {}
    if method == "tools/call":
        params = {"name": "read_graph", "arguments": {}}

    answer = server.ask(method, "x" * 43, **params)

    assert answer.status == 401
    assert "key" in str(answer.body)
    assert server.ask(method, **params).status == 200


def test_a_statement_of_one_member_is_recalled_by_another(server: Served, team: Team) -> None:
    server.text("remember", text="We use PostgreSQL for billing because of transactions")

    told = server.text("recall", team.bob, query="Which database does billing use?")
    found = server.get("v1/memory/recall?q=billing+database", team.bob)

    assert "We use PostgreSQL for billing" in told
    assert f"from {ANN}" in told
    assert found.body["results"][0]["metadata"]["author"] == ANN


def test_a_repeated_statement_is_reported_as_known(server: Served) -> None:
    server.text("remember", text="The gateway retries three times")

    assert "Known already" in server.text("remember", text="The gateway retries three times")


def test_only_its_author_can_replace_a_statement(server: Served, team: Team) -> None:
    said = server.text("remember", text="Deploys happen on Tuesdays")
    id_ = said.split()[3]

    theirs = server.text("remember", team.bob, text="Deploys happen on Fridays", instead_of=id_)
    mine = server.text("remember", text="Deploys happen on Mondays", instead_of=id_)

    assert "only its author can" in theirs
    assert "Replaces" in mine


def test_the_graph_tools_return_what_they_stored(server: Served, team: Team) -> None:
    entity = {"name": "Ledger", "entityType": "service", "observations": ["It is append-only"]}
    new = server.call("create_entities", entities=[entity]).body["structuredContent"]
    again = server.call("create_entities", team.bob, entities=[entity]).body["structuredContent"]
    relation = {"from": "Ledger", "relationType": "feeds", "to": "Reports"}
    server.call("create_relations", relations=[relation])

    opened = server.call("open_nodes", team.bob, names=["Ledger"]).body["structuredContent"]
    found = server.call("search_nodes", query="append-only").body["structuredContent"]

    assert (new["entities"], again["entities"]) == ([entity], [])
    assert opened["entities"] == [entity]
    assert opened["relations"] == [relation]
    assert "Ledger" in [one["name"] for one in found["entities"]]


def test_an_observation_of_an_unknown_entity_is_refused(server: Served) -> None:
    observations = [{"entityName": "Nobody", "contents": ["x"]}]

    answer = server.call("add_observations", observations=observations)

    assert answer.body["isError"]
    assert "not found" in answer.body["content"][0]["text"]


def test_a_deletion_withdraws_only_observations_of_the_caller(server: Served, team: Team) -> None:
    entity = {"name": "Shared", "entityType": "service", "observations": ["It is old"]}
    server.call("create_entities", entities=[entity])
    more = [{"entityName": "Shared", "contents": ["It is loved"]}]
    server.call("add_observations", team.bob, observations=more)

    server.call("delete_entities", entityNames=["Shared"])

    left = server.call("open_nodes", names=["Shared"]).body["structuredContent"]["entities"]
    assert left[0]["observations"] == ["It is loved"]


def test_the_forget_tool_deletes_only_with_the_confirmation_code_of_its_preview(
    server: Served, team: Team
) -> None:
    server.text("remember", text="The office cat is called Turing")
    preview = server.text("forget", what="office cat Turing")
    code = preview.rpartition('confirm "')[2].partition('"')[0]

    wrong = server.call("forget", what="office cat Turing", confirm="000000")
    server.text("forget", what="office cat Turing", confirm=code)

    assert wrong.body["isError"]
    assert "Turing" not in server.text("recall", query="office cat")


def test_a_failed_call_stores_nothing(server: Served) -> None:
    observations = [
        {"entityName": "Ledger", "contents": ["It was half written"]},
        {"entityName": "Nobody", "contents": ["x"]},
    ]

    server.call("add_observations", observations=observations)

    assert "half written" not in server.text("recall", query="half written")


def test_undo_reverts_the_last_change_of_the_caller(server: Served, team: Team) -> None:
    server.text("remember", team.bob, text="Lunch is at noon")
    server.text("remember", text="Standup is at ten")

    undone = server.post("v1/memory/undo", {}).body

    assert undone == {"undone": 1}
    assert "Standup" not in server.text("recall", query="when is standup")
    assert "Lunch is at noon" in server.text("recall", query="when is lunch")


def test_a_key_of_a_domain_reads_and_writes_only_that_domain(server: Served, team: Team) -> None:
    server.text("remember", team.legal, text="The lease ends in May")
    server.text("remember", text="The lease of the cache ends after a minute")

    inside = server.get("v1/memory/recall?q=lease+ends", team.legal).body["results"]
    outside = server.get("v1/memory/recall?q=lease+ends&domain=legal").body["results"]

    assert [one["text"] for one in inside] == ["The lease ends in May"]
    assert [one["metadata"]["domain"] for one in outside] == ["legal"]


def test_decisions_in_an_uploaded_session_summary_are_stored_as_records(
    server: Served, team: Team
) -> None:
    text = {
        "session_summary": "We talked about invoices.",
        "key_decisions": ["Use Tigris for the invoices"],
        "idempotency_key": "one",
    }
    first = server.post("v1/memory/ingest", text)
    again = server.post("v1/memory/ingest", text)
    other = server.post("v1/memory/ingest", text | {"session_summary": "Another text."})
    place = f"v1/memory/ingest/{first.body['id']}"

    until(lambda: server.get(place).body["state"] == "done")

    assert (first.status, again.body["id"], other.status) == (202, first.body["id"], 409)
    assert server.get(place, team.bob).status == 404
    assert "Use Tigris for the invoices" in server.text("recall", team.bob, query="invoices")


def test_an_invalid_text_in_the_upload_queue_does_not_block_later_uploads(
    server: Served, team: Team
) -> None:
    with closing(team.cluster.connect(BOB, team.database)) as connection:
        connection.execute(
            "INSERT INTO memory_fabric.ingested (id, space, domain, digest, body, length)"
            " VALUES (gen_random_uuid(), %s, '', '', '[7]', 1)",
            (SPACE,),
        )
        waits = "SELECT 1 FROM memory_fabric.ingested WHERE attempts = 0"
        until(lambda: connection.execute(waits.encode()).fetchone() is None)

    text = {"session_summary": "We talked.", "key_decisions": ["Use Ceph for the backups"]}
    sent = server.post("v1/memory/ingest", text)

    until(lambda: server.get(f"v1/memory/ingest/{sent.body['id']}").body["state"] == "done")


def test_the_browser_page_of_a_team_server_lists_team_records(server: Served) -> None:
    server.text("remember", text="The page lists every record of the team")

    page, picture = server.get(""), server.get("api/picture").body

    assert page.body.startswith("<!doctype html>")
    assert "The page lists every record of the team" in [one["what"] for one in picture["records"]]
    assert server.get("api/status").body["tiers"][0]["state"] == "healthy"
    assert server.get("api/projects").body == {"projects": [], "served": ""}
    assert server.get("api/recall?q=page").body["results"]


def test_a_browser_is_logged_in_with_a_cookie_instead_of_the_key(
    server: Served, team: Team
) -> None:
    import http.client

    host = server.address.removeprefix("http://").rstrip("/")
    with closing(http.client.HTTPConnection(host)) as connection:
        connection.request("GET", f"/?key={team.ann}")
        cookie = str(connection.getresponse().headers["Set-Cookie"]).partition(";")[0]

    assert team.ann not in cookie
    assert server.get("api/status", "", Cookie=cookie).status == 200
    assert server.get("api/status", "", Cookie=cookie[:-1] + "0").status in (200, 401)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("v1/memory/recall?q=a&limit=0", "limit"),
        ("v1/memory/recall?colour=red", "colour"),
        ("api/recall?q=a&limit=x", "limit"),
    ],
)
def test_an_invalid_request_parameter_is_named_in_the_error(
    server: Served, path: str, field: str
) -> None:
    answer = server.get(path)

    assert (answer.status, answer.body["error"]["field"]) == (400, field)


def test_a_removed_member_is_refused_at_once(team: Team, server: Served) -> None:
    with closing(connect(team.dsn)) as connection:
        remove(connection, SPACE, BOB)
        try:
            refused = server.get("v1/memory/recall?q=x", team.bob)
        finally:
            add(connection, SPACE, BOB)

    assert refused.status == 401
    assert server.get("v1/memory/recall?q=x", team.bob).status == 200


def test_a_deleted_key_is_refused_at_once(team: Team, server: Served) -> None:
    key = new_key(team.dsn, SPACE, ANN, "short")
    before = server.get("v1/memory/recall?q=x", key).status

    dropped = command(team.home, "--drop-key", "short", "--team", team.dsn)

    assert dropped.status == 0
    assert (before, server.get("v1/memory/recall?q=x", key).status) == (200, 401)


def test_the_team_server_answers_questions_if_its_database_is_read_only(team: Team) -> None:
    with closing(team.cluster.connect(SUPERUSER, team.database)) as connection:
        setting = f"ALTER DATABASE {team.database} SET default_transaction_read_only"
        connection.execute(f"{setting} = on")
        try:
            with serving(team.home, team.dsn, team.ann) as server:
                told = server.text("recall", query="billing")
                refused = server.call("remember", text="Nothing can be written now")
        finally:
            connection.execute(f"{setting} = off")

    assert told
    assert "read-only" in refused.body["content"][0]["text"]


def test_the_server_answers_again_when_the_database_is_back(
    another_cluster: Cluster, tmp_path: Path
) -> None:
    with another_cluster.database() as database:
        team = Team(another_cluster, database, tmp_path)
        with serving(tmp_path, team.dsn, team.ann) as server:
            server.text("remember", text="We use PostgreSQL for billing")
            another_cluster.stop("immediate")
            gone, ready = server.get("v1/memory/recall?q=billing"), server.get("readyz", "")
            alive = server.get("healthz", "")
            another_cluster.start()
            back = server.get("v1/memory/recall?q=billing")

    assert (gone.status, ready.status, alive.status, back.status) == (503, 503, 200, 200)
    assert gone.body["error"]["message"] == "The team's database does not answer."
    assert back.body["total_results"] == 1


def test_several_server_processes_process_each_uploaded_text_only_once(team: Team) -> None:
    with serving(team.home, team.dsn, team.ann, "--workers", "2") as server:
        until(lambda: server.get("readyz", "").status == 200)
        sent = [
            server.post(
                "v1/memory/ingest",
                {"session_summary": "A talk.", "key_decisions": [f"Use pattern {n} for retries"]},
            )
            for n in range(12)
        ]
        places = [f"v1/memory/ingest/{one.body['id']}" for one in sent]
        until(lambda: all(server.get(one).body["state"] == "done" for one in places))
        states = [server.get(one).body for one in places]

    assert [one["attempts"] for one in states] == [1] * 12
    assert len({id_ for one in states for id_ in one["records"]}) == 12


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--space", "other"], "need --team"),
        (["--team", "postgresql://ann:secret-word@localhost/x"], "password"),
        (["--team", "host=/nowhere"], "Cannot connect"),
        (["x", "--new-key", "--team", "DSN"], "--member"),
        (["x", "--new-key", "--team", "DSN", "--member", "nobody"], "no member"),
        ([ANN, "--new-key", "--team", "DSN", "--member", ANN], "already"),
        (["--drop-key", "none", "--team", "DSN"], "no key"),
        (["--team", "DSN", "--space", "other"], "no member of other"),
        (["--team", "DSN", "--workers", "-1"], "--workers"),
    ],
)
def test_invalid_options_are_explained(team: Team, arguments: list[str], told: str) -> None:
    done = command(team.home, *(team.dsn if one == "DSN" else one for one in arguments))

    assert done.status in (1, 2, 3)
    assert told in done.err
    assert "Traceback" not in done.err


def test_undo_of_a_deletion_and_again_takes_back_first_the_deletion_and_then_its_entity(
    server: Served,
) -> None:
    names = ["Undo ledger", "Undo cart"]  # the server has entities of other tests, too
    for name in names:
        server.text(
            "create_entities",
            entities=[{"name": name, "entityType": "service", "observations": []}],
        )
    server.text("delete_entities", entityNames=["Undo cart"])

    left = []
    for _ in range(3):
        server.post("v1/memory/undo", {})
        graph = json.loads(server.text("read_graph"))
        left.append([e["name"] for e in graph["entities"] if e["name"] in names])

    assert left == [names, ["Undo ledger"], []]
