"""The page and its questions over real HTTP: who may ask, what is answered, and how it ends."""

from __future__ import annotations

import http.client
import signal
import socket
import sqlite3
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pexpect
import pytest

import forked
from cli.shell import Shell
from drawn import token
from memory_fabric.viewer.page import content_security_policy
from servers.http.http_server import GIVE_UP_S, Serving, serving

OFFSETS = ("--why", "offsets are slow", "Use cursor-pagination for the orders-api")
# What changes from one look to the next.
MOMENTS = frozenset(("made_at", "live", "takes_changes", "tiers"))


def told(folder: Path) -> Shell:
    """A shell in a project of which something is remembered."""
    shell = Shell(folder)
    shell.remember(*OFFSETS)
    shell.remember("Always use UTC in the audit-log")
    return shell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell that the tests of this module only ask."""
    return told(tmp_path_factory.mktemp("asked"))


@pytest.fixture(scope="module")
def server(shell: Shell) -> Iterator[Serving]:
    """A server of its memory that nothing ends."""
    with serving(shell) as found:
        yield found


@pytest.fixture
def own_shell(tmp_path: Path) -> Shell:
    """A shell of a test's own, whose memory it changes."""
    return told(tmp_path)


@pytest.fixture
def own_server(own_shell: Shell) -> Iterator[Serving]:
    """A server of a test's own."""
    with serving(own_shell) as found:
        yield found


def cookie_of(server: Serving) -> str:
    """The cookie that a browser has after it opened the address."""
    reply = server.get(f"/?key={server.key}", key="none")
    return reply.headers["set-cookie"].partition(";")[0]


def test_the_server_listens_on_loopback_and_prints_its_address_with_the_key(
    shell: Shell, server: Serving
) -> None:
    assert server.told.startswith(f"The memory of {shell.project}: http://127.0.0.1:")
    assert len(server.key) >= 40


def test_each_start_of_the_server_creates_a_new_key(shell: Shell, server: Serving) -> None:
    with serving(shell) as other:
        assert other.key != server.key
        assert other.get("/api/status", key=server.key).status == 401


def test_opening_the_address_with_the_key_sets_a_cookie_for_the_page(server: Serving) -> None:
    entered = server.get(f"/?key={server.key}", key="none")

    assert (entered.status, entered.headers["location"]) == (303, "/")
    cookie, *rules = entered.headers["set-cookie"].split("; ")
    assert cookie.startswith(f"memory-fabric-{server.port}=")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} == set(rules)
    page = server.get("/", key="none", Cookie=f"other=1; {cookie}")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b'id="memory"' in page.body and b"cursor-pagination" not in page.body
    assert server.get("/api/status", key="none", Cookie=cookie).status == 200


@pytest.mark.parametrize("path", ["/api/picture", "/api/recall?q=x", "/nowhere", "/api/status"])
def test_requests_without_the_key_are_refused(server: Serving, path: str) -> None:
    for key in ("none", "wrong", server.key[:-1], server.key + "x"):
        reply = server.get(path, key=key)

        assert (reply.status, reply.code) == (401, "unauthorized")
        assert "printed" in reply.json["error"]["remedy"]
    assert (
        server.get(f"{path}{'&' if '?' in path else '?'}key={server.key}", key="none").status == 401
    )


def test_the_front_page_without_the_key_explains_how_to_get_the_address(server: Serving) -> None:
    for path in ("/", "/?key=wrong", f"/?key={server.key}&key={server.key}"):
        reply = server.get(path, key="none")

        assert reply.status == 401
        assert b"address that memory-fabric serve printed" in reply.body
        assert "set-cookie" not in reply.headers


def test_a_cookie_with_a_wrong_name_or_value_is_refused(server: Serving) -> None:
    name, _, value = cookie_of(server).partition("=")

    assert server.get("/", key="none", Cookie=f"{name}x={value}").status == 401
    assert server.get("/", key="none", Cookie=f"{name}={value}x").status == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil:{port}"],
)
def test_a_request_with_another_host_or_port_in_its_host_header_is_refused(
    server: Serving, host: str
) -> None:
    reply = server.get("/api/status", Host=host.format(port=server.port))

    assert (reply.status, reply.code) == (403, "wrong_host")


def test_requests_to_loopback_host_names_are_accepted(server: Serving) -> None:
    for name in ("localhost", "LOCALHOST", "127.0.0.1", "[::1]"):
        assert server.get("/api/status", Host=f"{name}:{server.port}").status == 200


def test_a_request_without_exactly_one_host_header_is_refused(server: Serving) -> None:
    key = f"Authorization: Bearer {server.key}\r\nConnection: close\r\n".encode()
    ours = f"Host: 127.0.0.1:{server.port}\r\n".encode()

    for hosts in (b"", ours + b"Host: evil.example\r\n"):
        answer = server.raw(b"GET /api/status HTTP/1.1\r\n" + hosts + key + b"\r\n")
        assert answer.split(b" ")[1] in (b"400", b"403")
    assert server.raw(b"GET /api/status HTTP/1.0\r\n" + key + b"\r\n").split(b" ")[1] == b"403"


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "file://"])
def test_a_request_from_another_origin_is_refused(server: Serving, origin: str) -> None:
    reply = server.get("/api/status", Origin=origin)

    assert (reply.status, reply.code) == (403, "wrong_origin")


def test_same_origin_requests_are_accepted_and_cross_site_requests_are_refused(
    server: Serving,
) -> None:
    own = f"http://127.0.0.1:{server.port}"

    assert server.get("/api/status", Origin=own, Sec_Fetch_Site="same-origin").status == 200
    for site in ("cross-site", "same-site"):
        assert server.get("/api/status", Sec_Fetch_Site=site).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["/", "/api/picture"])
def test_methods_other_than_get_and_head_are_refused(
    server: Serving, method: str, path: str
) -> None:
    reply = server.get(path, method=method)

    assert (reply.status, reply.code) == (405, "method_not_allowed")
    assert set(reply.headers["allow"].split(", ")) == {"GET", "HEAD"}


def test_a_head_request_returns_headers_without_a_body(server: Serving) -> None:
    reply = server.get("/api/status", method="HEAD")

    assert (reply.status, reply.body) == (200, b"")


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/",
        "/api/picture/",
        "//api/picture",
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/api/..%2f..%2fetc/passwd",
        "/api/picture%00",
        "/index.html",
    ],
)
def test_a_path_that_differs_slightly_from_a_known_path_is_not_found(
    server: Serving, path: str
) -> None:
    reply = server.get(path)

    assert (reply.status, reply.code) == (404, "not_found")


def test_a_request_line_with_the_url_of_another_host_is_answered_with_404(server: Serving) -> None:
    ours = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.key}\r\n"

    answer = server.raw(f"GET http://evil.example/api/picture HTTP/1.1\r\n{ours}\r\n".encode())

    assert answer.split(b" ")[1] == b"404"


def test_every_response_has_the_security_headers(server: Serving) -> None:
    replies = [
        server.get("/"),
        server.get("/api/status"),
        server.get("/nowhere"),
        server.get("/api/status", key="none"),
        server.get("/api/status", Host="evil.example"),
        server.get(f"/?key={server.key}", key="none"),
    ]

    for reply in replies:
        kept = {name: reply.headers[name] for name in reply.headers if name != "date"}
        policy, _, framing = kept["content-security-policy"].rpartition("; ")
        assert policy == content_security_policy(live=True)
        assert framing == "frame-ancestors 'none'"
        assert kept["x-content-type-options"] == "nosniff"
        assert kept["referrer-policy"] == "no-referrer"
        assert kept["x-frame-options"] == "DENY"
        assert kept["cache-control"] == "no-store"
        assert kept["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in kept
        assert "access-control-allow-origin" not in kept


def settled(value: Any) -> Any:
    """An answer without what depends on the moment of the question."""
    if isinstance(value, dict):
        return {
            k: settled(v)
            for k, v in value.items()
            if k not in MOMENTS and k not in ("score", "score_parts", "read_at", "age_s")
        }
    return [settled(part) for part in value] if isinstance(value, list) else value


def test_the_page_gets_the_same_graph_as_the_viz_command(shell: Shell, server: Serving) -> None:
    live = server.ask("/api/picture")

    assert live["live"] is True
    assert settled(live) == settled(shell.run("viz", "--json").json)
    assert len(live["records"]) == 2


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"q": "pagination of the orders-api"}, ("pagination of the orders-api", "--limit", "20")),
        ({"q": "type:decision", "limit": "1"}, ("type:decision", "--limit", "1")),
        ({"q": "UTC", "as_of": "2020-01-01"}, ("UTC", "--limit", "20", "--as-of", "2020-01-01")),
        ({"q": "zebra crossing"}, ("zebra crossing", "--limit", "20")),
        ({"q": ""}, ("--limit", "20")),
    ],
)
def test_the_recall_api_returns_what_the_recall_command_prints(
    shell: Shell, server: Serving, asked: dict[str, str], words: tuple[str, ...]
) -> None:
    printed = shell.run("recall", *words, "--explain", "--json").json

    assert settled(server.ask("/api/recall", **asked)) == settled(printed)


def test_the_history_api_returns_what_the_history_command_prints(
    shell: Shell, server: Serving
) -> None:
    one = shell.run("history", "cursor-pagination", "--json").json

    assert server.ask("/api/history", name="cursor-pagination") == one
    assert (
        server.ask("/api/history", limit="1") == shell.run("history", "--limit", "1", "--json").json
    )
    assert server.ask("/api/history", name="unheard-of") == []


def test_the_status_api_reports_the_same_tiers_as_the_status_command(
    shell: Shell, server: Serving
) -> None:
    live, printed = server.ask("/api/status"), shell.run("status", "--json").json

    assert settled(live["tiers"]) == settled(printed["tiers"])


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("/api/recall?q=x&limit=0", "limit"),
        ("/api/recall?q=x&limit=101", "limit"),
        ("/api/recall?q=x&limit=-1", "limit"),
        ("/api/recall?q=x&limit=000000001000", "limit"),
        ("/api/recall?q=x&limit=ten", "limit"),
        ("/api/recall?q=x&as_of=perhaps", "names no time"),
        ("/api/recall?q=" + "x" * 4097, "4 KB"),
        ("/api/history?name=" + "x" * 4097, "4 KB"),
    ],
)
def test_an_invalid_query_is_refused_with_a_reason(server: Serving, path: str, named: str) -> None:
    reply = server.get(path)

    assert (reply.status, reply.code) == (400, "bad_input")
    assert named in reply.json["error"]["message"]


def test_control_characters_and_invalid_utf8_in_a_query_are_accepted(server: Serving) -> None:
    for text in ("%00", "%ED%A0%80", "%FF%FE", "%F0%9F%99%82", "%22%29%20OR%201=1%20--", "a*b^c:d"):
        assert server.get(f"/api/recall?q={text}").status == 200
        assert server.get(f"/api/history?name={text}").status == 200


def test_a_request_that_is_too_large_or_has_a_body_is_refused(server: Serving) -> None:
    body = server.get("/api/status", Content_Length="3")
    address = server.get(f"/api/recall?q={'x' * 17_000}")

    assert (body.status, body.code) == (413, "too_large")
    assert (address.status, address.code) == (414, "too_large")
    assert server.get("/api/status").status == 200


def test_concurrent_requests_are_all_answered(server: Serving) -> None:
    paths = ["/api/picture", "/api/recall?q=pagination", "/api/history", "/api/status"] * 4

    with ThreadPoolExecutor(len(paths)) as pool:
        replies = list(pool.map(server.get, paths))

    assert [reply.status for reply in replies] == [200] * len(paths)
    assert replies[1].json["total_results"] == replies[5].json["total_results"] >= 1


def test_idle_connections_do_not_block_others(server: Serving) -> None:
    begun = b"GET /api/status HTTP/1.1\r\nHost: x\r\n"
    answered = b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    with ExitStack() as open_ones:
        idle = [
            open_ones.enter_context(socket.create_connection((server.host, server.port), GIVE_UP_S))
            for _ in range(66)
        ]
        for number, connection in enumerate(idle):
            connection.sendall((b"", begun, answered + begun)[number % 3])

        for connection in idle:
            while connection.recv(65536):
                continue

        assert server.get("/api/status").status == 200


def test_a_connection_is_kept_open_between_requests(server: Serving) -> None:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=GIVE_UP_S)
    connection.connect()
    ours = connection.sock

    for _ in range(3):
        connection.request("GET", "/api/status", headers={"Authorization": f"Bearer {server.key}"})
        assert connection.getresponse().read()

    assert connection.sock is ours
    connection.close()


def test_a_memory_stored_while_serving_is_in_the_next_response(
    own_shell: Shell, own_server: Serving
) -> None:
    before = len(own_server.ask("/api/picture")["records"])

    own_shell.remember("Keep invoices for ten years")

    assert len(own_server.ask("/api/picture")["records"]) == before + 1


def test_secrets_stored_before_a_redaction_rule_are_hidden_in_responses(own_shell: Shell) -> None:
    secret = token()
    with closing(sqlite3.connect(own_shell.database)) as connection, connection:
        connection.execute("UPDATE entities SET name = name || ' ' || ?", (secret,))
        connection.execute(
            "UPDATE records SET body = json_set(body, '$.alternatives', json_array(?))", (secret,)
        )

    with serving(own_shell) as server:
        for path in ("/api/picture", "/api/recall?q=pagination", "/api/recall", "/api/history"):
            reply = server.get(path)

            assert reply.status == 200
            assert secret.encode() not in reply.body


def test_damage_to_the_database_while_serving_is_reported_with_a_remedy(
    own_shell: Shell, own_server: Serving
) -> None:
    own_server.ask("/api/status")
    own_shell.database.write_bytes(b"no database" * 1000)
    Path(f"{own_shell.database}-wal").unlink(missing_ok=True)

    for path in ("/api/picture", "/api/recall?q=x", "/api/history", "/api/status"):
        reply = own_server.get(path)

        assert (reply.status, reply.code) == (503, "unavailable")
        assert "repair" in reply.json["error"]["remedy"]
        assert str(own_shell.memory) not in reply.body.decode()
    brought = own_server.send("We keep invoices for ten years.")
    assert (brought.status, brought.code) == (503, "unavailable")
    assert str(own_shell.memory) not in brought.body.decode()
    assert own_server.get("/").status == 200


def test_a_database_damaged_before_the_start_is_reported_as_unavailable(own_shell: Shell) -> None:
    own_shell.database.write_bytes(b"no database" * 1000)

    with serving(own_shell) as server:
        picture, status = server.ask("/api/picture"), server.ask("/api/status")
        errors = server.end(signal.SIGTERM)[1]

    assert picture["entities"] == []
    assert {t["state"] for t in (picture["tiers"][0], status["tiers"][0])} == {"unavailable"}
    assert errors == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_at_once_and_cleanly(own_server: Serving, number: int) -> None:
    own_server.get("/api/status")
    began = time.monotonic()

    assert own_server.end(number) == (0, "")
    assert time.monotonic() - began < 20


def test_a_signal_during_the_start_ends_the_server(shell: Shell) -> None:
    with serving(shell) as server:
        assert server.end(signal.SIGTERM) == (0, "")


def test_a_port_in_use_is_reported_in_one_line_with_a_remedy(shell: Shell, server: Serving) -> None:
    done = shell.run("serve", "--port", str(server.port))

    assert (done.status, done.out) == (1, "")
    assert done.err == (
        f"memory-fabric: Port {server.port} of 127.0.0.1 is in use. "
        "Say --port 0 for any that is free.\n"
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.2", "::", "example.org", ""])
def test_an_address_reachable_from_other_machines_is_refused(shell: Shell, host: str) -> None:
    done = forked.run(["serve", "--host", host], shell.environ, shell.project, GIVE_UP_S)

    assert (done.returncode, done.stdout) == (2, "")
    assert "127.0.0.1, ::1 and localhost" in done.stderr


def test_the_server_can_listen_on_the_ipv6_loopback_address(shell: Shell) -> None:
    with serving(shell, "--host", "::1") as server:
        assert server.address.startswith("http://[::1]:")
        assert server.get("/api/status").status == 200


def test_the_browser_is_opened_with_a_key_that_works_only_once(
    shell: Shell, tmp_path: Path
) -> None:
    given = tmp_path / "given"
    program = tmp_path / "browser"
    program.write_text(
        f'#!/bin/sh\nprintf "%s" "$1" > "{given}.part"; mv "{given}.part" "{given}"\n'
    )
    program.chmod(0o755)
    environ = {**shell.environ, "BROWSER": f"{program} %s", "COLUMNS": "500"}
    screen = pexpect.spawn(
        sys.executable,
        ["-m", "memory_fabric.cli", "serve", "--port", "0", "--open"],
        env=environ,
        cwd=str(shell.project),
        encoding="utf-8",
    )
    screen.expect(r"http://127\.0\.0\.1:(\d+)/\?key=(\S+)")
    port, lasting = screen.match.groups()
    while not given.exists():
        assert screen.isalive()

    server = Serving.__new__(Serving)
    server.host, server.port, server.key = "127.0.0.1", int(port), lasting
    path = given.read_text().partition(port)[2]

    assert lasting not in path
    assert [server.get(path, key="none").status for _ in range(2)] == [303, 401]
    screen.kill(signal.SIGTERM)
    screen.expect(pexpect.EOF)
    screen.close()
    assert screen.exitstatus == 0
