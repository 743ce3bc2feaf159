"""Keys of the server: of a start, for once, kept; and names under which it may be asked."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlencode

import pytest

from cli.shell import Shell
from memory_fabric.errors import BadInput, NotFound, StoreReadOnly, StoreUnavailable
from memory_fabric.servers.http import keys as kept_keys
from memory_fabric.servers.http.guard import Names, Rate
from memory_fabric.servers.http.keys import LOOK_EVERY_S, NOBODY, Keys, MemberKeys
from memory_fabric.servers.mcp.protocol import GRAPH_URI
from servers.http.http_server import INGEST, Reply, Serving, serving
from waiting import until

LEGACY = "2025-06-18"
BOTH = "application/json, text/event-stream"
UPDATED = b"notifications/resources/updated"
API = {"name": "api", "entityType": "component", "observations": ["in Go"]}


class Clock:
    """A time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_each_valid_key_identifies_its_holder_and_invalid_keys_identify_nobody(
    tmp_path: Path,
) -> None:
    home = str(tmp_path)
    first, second = kept_keys.make(home, "first"), kept_keys.make(home, "second")
    keys = Keys(home)

    holders = {keys.holder(key) for key in (first, second, keys.lasting)}

    assert len(holders) == 3 and NOBODY not in holders
    for stranger in ("", first[:-1], first + "x", kept_keys.digest_of(first), "ä"):
        assert keys.holder(stranger) == NOBODY


def test_a_cookie_becomes_invalid_when_the_key_that_created_it_is_dropped(tmp_path: Path) -> None:
    home, clock = str(tmp_path), Clock()
    laptop, phone = kept_keys.make(home, "laptop"), kept_keys.make(home, "phone")
    keys = Keys(home, clock=clock)
    holders = [keys.holder(key) for key in (laptop, phone, keys.lasting, keys.lasting)]
    cookies = [keys.cookie_for(key) for key in (laptop, phone, keys.lasting, keys.once())]

    before = [keys.holder_by_cookie(one) for one in cookies]
    kept_keys.drop(home, "laptop")
    clock.now += LOOK_EVERY_S
    after = [keys.holder_by_cookie(one) for one in cookies]

    assert before == holders and NOBODY not in holders
    assert after == [NOBODY, *holders[1:]]
    assert [keys.is_good(one) for one in holders] == [False, True, True, True]


def test_a_cookie_is_valid_only_at_its_own_server_and_not_as_a_key(
    tmp_path: Path,
) -> None:
    home = str(tmp_path)
    kept = kept_keys.make(home, "laptop")
    keys, other = Keys(home), Keys(home)
    cookie = keys.cookie_for(kept)

    assert (keys.holder(cookie), keys.cookie_for(cookie)) == (NOBODY, "")
    for stranger in (kept, keys.lasting, keys.holder(kept), "", "start", cookie[:-1], "ä"):
        assert keys.holder_by_cookie(stranger) == NOBODY
    assert other.holder_by_cookie(cookie) == NOBODY


def test_a_running_server_detects_created_and_dropped_keys(tmp_path: Path) -> None:
    home, clock = str(tmp_path), Clock()
    keys = Keys(home, clock=clock)
    needed = [keys.are_needed]

    key = kept_keys.make(home, "late")
    clock.now += LOOK_EVERY_S
    holders = [keys.holder(key)]
    needed.append(keys.are_needed)
    kept_keys.drop(home, "late")
    clock.now += LOOK_EVERY_S
    holders.append(keys.holder(key))

    assert needed == [False, True]
    assert [holder == NOBODY for holder in holders] == [False, True]


def test_a_key_is_still_required_after_the_last_key_is_dropped(tmp_path: Path) -> None:
    home, clock = str(tmp_path), Clock()
    kept_keys.make(home, "last")
    keys = Keys(home, clock=clock)

    kept_keys.drop(home, "last")
    clock.now += LOOK_EVERY_S

    assert keys.are_needed and not keys.has_kept


def test_loaded_keys_remain_valid_when_the_key_file_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, clock = str(tmp_path), Clock()
    key = kept_keys.make(home, "known")
    keys = Keys(home, clock=clock)

    Path(kept_keys.path_in(home)).write_text("{", "utf-8")
    clock.now += LOOK_EVERY_S

    assert keys.holder(key) != NOBODY and keys.are_needed
    assert "is damaged" in capsys.readouterr().err


def test_a_strict_server_needs_a_key_although_none_is_kept(tmp_path: Path) -> None:
    strict, other = Keys(str(tmp_path), strict=True), Keys(str(tmp_path))

    assert strict.are_needed and not strict.has_kept
    assert not other.are_needed and other.is_good(NOBODY)


def test_each_single_use_key_opens_the_page_once(tmp_path: Path) -> None:
    keys = Keys(str(tmp_path))
    first, second = keys.once(), keys.once()
    cookie = keys.cookie_for(keys.lasting)

    assert first != second and keys.holder(first) == NOBODY
    assert [keys.cookie_for(one) for one in (first, first, second)] == [cookie, "", cookie]


def test_a_key_without_a_name_gets_the_first_free_number(tmp_path: Path) -> None:
    home = str(tmp_path)
    for name in ("", "key-3", "", ""):
        kept_keys.make(home, name)
    kept_keys.drop(home, "key-1")
    kept_keys.make(home, "")

    assert [key.name for key in kept_keys.kept(home)] == ["key-3", "key-2", "key-4", "key-1"]
    assert Path(kept_keys.path_in(home)).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["n" * 65, " laptop", "laptop ", "lap\ntop", "taken"])
def test_a_key_with_an_invalid_or_taken_name_is_not_made(tmp_path: Path, name: str) -> None:
    home = str(tmp_path)
    kept_keys.make(home, "taken")
    kept_keys.make(home, "n" * 64)

    with pytest.raises(BadInput):
        kept_keys.make(home, name)

    assert [key.name for key in kept_keys.kept(home)] == ["taken", "n" * 64]


def test_dropping_an_unknown_key_keeps_the_others(tmp_path: Path) -> None:
    home = str(tmp_path)
    kept_keys.make(home, "laptop")

    with pytest.raises(NotFound, match="There is no key 'phone'"):
        kept_keys.drop(home, "phone")

    assert [key.name for key in kept_keys.kept(home)] == ["laptop"]


@pytest.mark.parametrize(
    "keys",
    [
        {"name": "x", "sha256": "0" * 64, "created_at": ""},
        [{"name": "x", "sha256": "0" * 63, "created_at": ""}],
        [{"name": "x", "sha256": "A" * 64, "created_at": ""}],
        [{"name": 7, "sha256": "0" * 64, "created_at": ""}],
        [{"name": "x", "sha256": "0" * 64}],
        None,
        7,
    ],
)
def test_a_key_file_with_an_invalid_entry_counts_as_damaged(tmp_path: Path, keys: Any) -> None:
    path = Path(kept_keys.path_in(str(tmp_path)))
    path.write_text(json.dumps({"keys": keys}), "utf-8")

    with pytest.raises(StoreUnavailable, match="is damaged"):
        kept_keys.kept(str(tmp_path))

    path.write_text('{"keys": []}', "utf-8")
    assert kept_keys.kept(str(tmp_path)) == ()


def test_a_key_file_that_cannot_be_read_is_reported_and_not_replaced(tmp_path: Path) -> None:
    path = Path(kept_keys.path_in(str(tmp_path)))
    path.mkdir()

    with pytest.raises(StoreReadOnly, match="cannot be read"):
        kept_keys.make(str(tmp_path), "laptop")

    assert path.is_dir()


def test_a_member_is_identified_by_the_digest_of_a_key_of_plausible_length() -> None:
    keys = MemberKeys()
    longest = "k" * 200

    assert keys.holder(longest) == keys.holder_by_cookie(longest) == kept_keys.digest_of(longest)
    assert [keys.holder(key) for key in ("", longest + "k")] == [NOBODY, NOBODY]
    assert [keys.cookie_for(key) for key in ("", longest + "k")] == ["", ""]
    assert keys.cookie_for("a") == kept_keys.cookie_of("a") != kept_keys.cookie_of("b")
    assert keys.cookie_for("a") not in ("a", keys.holder("a"))
    assert keys.are_needed and keys.is_good("anybody")


def test_the_request_rate_of_each_key_is_limited_after_a_short_burst() -> None:
    clock = Clock()
    rate = Rate(2, clock)

    assert [rate.wait_s("a") for _ in range(3)] == [0, 0, 1]
    assert rate.wait_s("b") == 0
    clock.now += 0.5
    assert [rate.wait_s("a") for _ in range(2)] == [0, 1]
    clock.now += 3600
    assert [rate.wait_s("a") for _ in range(3)] == [0, 0, 1]


@pytest.mark.parametrize(
    ("host", "fits"),
    [
        ("127.0.0.1:8002", True),
        ("LOCALHOST:8002", True),
        ("memory.example.org", True),
        ("Memory.example.org:8002", True),
        ("memory.example.org:9", False),
        ("other.example.org:443", True),
        ("other.example.org", False),
        ("127.0.0.1", False),
        ("evil.example", False),
        ("", False),
    ],
)
def test_only_requests_for_allowed_hosts_are_answered(host: str, fits: bool) -> None:
    names = Names("127.0.0.1", 8002, ["memory.example.org", "other.example.org:443"])

    assert names.fit_host([host]) is fits
    assert not names.fit_host([host, host]) and not names.fit_host([])


def test_origins_on_an_allowed_host_are_accepted_with_http_and_https() -> None:
    names = Names("127.0.0.1", 8002, ["memory.example.org"])

    ours = ["https://memory.example.org", "http://memory.example.org:8002", "http://[::1]:8002"]
    assert all(names.fit_origins([one]) for one in ours)
    for other in ("https://evil.example", "null", "https://127.0.0.1:8002", "http://localhost"):
        assert not names.fit_origins([other])


@pytest.mark.parametrize(
    "name",
    [
        "https://a.example",
        "a/b",
        "",
        "*",
        "a:b",
        "a b",
        "ä.example",
        "[]",
        ":80",
        "host:",
        "a:²",
        "[::1]:http",
    ],
)
def test_an_invalid_host_name_is_refused_as_an_allowed_host(name: str) -> None:
    with pytest.raises(BadInput, match="is not a valid name for a Host header"):
        Names("127.0.0.1", 8002, [name])


def test_the_serve_command_can_create_list_and_drop_a_key(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    made = shell.run("serve", "--new-key", "laptop")
    again = shell.run("serve", "--new-key", "laptop")
    listed = shell.run("serve", "--list-keys")
    dropped = shell.run("serve", "--drop-key", "laptop")
    gone = shell.run("serve", "--drop-key", "laptop")

    assert made.status == 0 and len(made.out.strip()) > 40
    assert "shown only once" in made.err
    assert again.status == 2 and "already" in again.err
    assert listed.out.startswith("laptop  20") and made.out.strip() not in listed.out
    assert dropped.out == "The key laptop is not valid any more.\n"
    assert (gone.status, gone.out) == (3, "")
    assert "There is no permanent key" in shell.run("serve", "--list-keys").out


@pytest.mark.parametrize(
    "words",
    [("--new-key", "--list-keys"), ("laptop",), ("--list-keys", "x")],
)
def test_incompatible_options_of_serve_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = Shell(tmp_path).run("serve", *words)

    assert (done.status, done.out) == (2, "")


def test_ingesting_requires_a_key_once_a_permanent_key_exists(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    key = shell.run("serve", "--new-key").out.strip()
    with serving(shell) as server:
        refused = [server.send("x", key=one) for one in ("none", "wrong", key[:-1])]
        told = server.send("x", key=key)
        state = f"{INGEST}/{told.json['id']}"

        assert [(one.status, one.headers["www-authenticate"]) for one in refused] == [
            (401, "Bearer")
        ] * 3
        assert told.status == 202
        assert server.send("x", key=server.key).status == 202
        assert [server.get(state, key=one).status for one in ("none", key)] == [401, 200]
        assert server.get("/api/status", key=key).status == 200
        assert server.get(f"/?key={key}", key="none").status == 303
        assert server.get("/healthz", key="none").status == 200


def opened_by(server: Serving, key: str) -> str:
    """The cookie that a browser has after it opened the page with this key."""
    reply = server.get(f"/?{urlencode({'key': key})}", key="none")
    assert reply.status == 303
    return reply.headers["set-cookie"].partition(";")[0]


def test_dropping_a_key_ends_the_browser_sessions_opened_with_it(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    key = shell.run("serve", "--new-key", "laptop").out.strip()
    with serving(shell) as server:
        by_kept, by_start = opened_by(server, key), opened_by(server, server.key)

        def statuses(cookie: str) -> list[int]:
            return [
                server.get(path, key="none", Cookie=cookie).status for path in ("/", "/api/status")
            ]

        before = [statuses(by_kept), statuses(by_start)]
        assert server.get("/mcp", key="none", Cookie=by_kept, Accept="*/*").status != 401
        shell.run("serve", "--drop-key", "laptop")
        until_refused(server, key)

        assert before == [[200, 200], [200, 200]]
        assert [statuses(by_kept), statuses(by_start)] == [[401, 401], [200, 200]]
        assert server.get("/mcp", key="none", Cookie=by_kept).status == 401
        assert server.send("x", key=by_kept.partition("=")[2]).status == 401


def test_the_value_of_a_cookie_is_not_accepted_as_a_key(tmp_path: Path) -> None:
    with serving(Shell(tmp_path)) as server:
        name, _, value = opened_by(server, server.key).partition("=")

        assert value != server.key
        assert server.get("/api/status", key=value).status == 401
        assert server.get(f"/?key={value}", key="none").status == 401
        cookie = f"{name}={server.key}"
        assert server.get("/api/status", key="none", Cookie=cookie).status == 401


def test_clients_of_a_dropped_key_are_no_longer_notified_of_changes(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.remember("We use PostgreSQL for the invoices")
    key = shell.run("serve", "--new-key", "laptop").out.strip()
    with serving(shell) as server, listening(server, key) as heard:
        shell.run("serve", "--drop-key", "laptop")
        until_refused(server, key)
        shell.remember("We use Redis for the sessions")

        assert not any(UPDATED in line for line in iter(heard.readline, b""))


@contextmanager
def listening(server: Serving, key: str) -> Iterator[IO[bytes]]:
    """Yield what a client hears that subscribed to the graph, after a first change."""

    def said(message: dict[str, Any], **headers: str) -> Reply:
        body = json.dumps({"jsonrpc": "2.0", **message})
        return server.post("/mcp", body, key=key, Accept=BOTH, **headers)

    who = {
        "protocolVersion": LEGACY,
        "capabilities": {},
        "clientInfo": {"name": "t", "version": ""},
    }
    greeted = said({"id": 1, "method": "initialize", "params": who})
    session = {"Mcp-Session-Id": greeted.headers["mcp-session-id"], "MCP-Protocol-Version": LEGACY}
    given = {name.replace("-", "_"): value for name, value in session.items()}
    assert said({"method": "notifications/initialized"}, **given).status == 202
    keys = {"Authorization": f"Bearer {key}", "Accept": "text/event-stream"}
    with closing(http.client.HTTPConnection(server.host, server.port, timeout=60)) as connection:
        connection.request("GET", "/mcp", headers={**session, **keys})
        heard = connection.getresponse()
        assert heard.status == 200
        asked = {"id": 2, "method": "resources/subscribe", "params": {"uri": GRAPH_URI}}
        assert said(asked, **given).status == 200
        call = {"name": "create_entities", "arguments": {"entities": [API]}}
        assert said({"id": 3, "method": "tools/call", "params": call}, **given).status == 200
        while UPDATED not in heard.readline():
            continue
        yield heard
        heard.close()


def until_refused(server: Serving, key: str) -> None:
    """Return once the server follows that this key was dropped."""
    until(lambda: server.get("/api/status", key=key).status == 401)


def test_a_server_on_all_addresses_requires_a_key_and_recommends_tls(
    tmp_path: Path,
) -> None:
    shell = Shell(tmp_path)
    key = shell.run("serve", "--new-key").out.strip()
    with serving(shell, "--host", "0.0.0.0", "--allow-host", "Memory.example.org") as server:
        server.host = "127.0.0.1"
        host = {"Host": "memory.example.org"}

        assert server.send("x", key=key).status == 202
        assert server.send("x").status == 401
        assert server.get("/api/status", key=key, **host).status == 200
        assert server.get("/api/status", key=key, Host="evil.example").status == 403
        assert "put TLS in front" in server.end(15)[1]


def test_requests_above_the_rate_limit_get_a_retry_after_header(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.memory.mkdir(parents=True)
    (shell.memory / "config.toml").write_text("[serve]\nrate = 1\n", "utf-8")
    with serving(shell) as server:
        replies = [server.get("/api/status") for _ in range(5)]
        other = server.get(f"{INGEST}/x", key="none")

    refused = next(one for one in replies if one.status == 429)
    assert replies[0].status == 200
    assert refused.code == "too_many_requests" and int(refused.headers["retry-after"]) == 1
    assert other.status == 404


def test_the_server_does_not_start_if_the_key_file_is_damaged(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.memory.mkdir(parents=True)
    Path(kept_keys.path_in(str(shell.memory))).write_text("{", "utf-8")

    done = shell.run("serve", "--port", "0")

    assert done.status == 1 and "is damaged" in done.err
