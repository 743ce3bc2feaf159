"""Our JSON-RPC and MCP, judged by the SDK: the same lines to both, and the same answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter, methods, version
from pydantic import ValidationError

from memory_fabric.servers.mcp import protocol
from memory_fabric.servers.mcp.jsonrpc import INVALID_PARAMS, Fault
from memory_fabric.servers.mcp.sdk_server import MemoryServer
from memory_fabric.servers.mcp.session import HANDSHAKE, MODERN, Session
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.memory import Memory
from servers import mcp_clients
from servers.mcp_clients import SAID_BY, run

WAIT_S = 60
CLIENT = {"name": "test", "version": "0"}
ENVELOPE = {
    protocol.VERSION_KEY: protocol.MODERN_VERSION,
    protocol.CLIENT_KEY: CLIENT,
    protocol.CAPABILITIES_KEY: {},
}
GRAPH = {"uri": protocol.GRAPH_URI}
API = {"entities": [{"name": "api", "entityType": "t", "observations": ["x"]}]}


def greeting(wanted: Any = "2025-11-25") -> tuple[str, dict[str, Any]]:
    params = {"protocolVersion": wanted, "capabilities": {}, "clientInfo": CLIENT}
    return "initialize", params


def call(tool: Any, arguments: Any) -> tuple[str, dict[str, Any]]:
    return "tools/call", {"name": tool, "arguments": arguments}


COMMON: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("tools/list", {"cursor": "x"}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", GRAPH),
    ("resources/read", {"uri": "memory://else"}),
    ("resources/read", {}),
    ("prompts/list", {}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}},
    ),
    ("memory/dream", {}),
    call("create_entities", API),
    call("open_nodes", {"names": ["api"]}),
    call("open_nodes", None),
    call("open_nodes", []),
    call("nope", {}),
    call("create_entities", {"entities": "x"}),
    ("tools/call", {"name": "read_graph"}),
    ("tools/call", {"name": 3}),
]
HANDSHAKE_REQUESTS = [
    ("ping", {}),
    ("tools/list", {}),
    ("memory/dream", {}),
    greeting(),
    *COMMON,
    ("ping", {"_meta": {}}),
    ("ping", {"_meta": 3}),
    ("resources/subscribe", GRAPH),
    ("resources/unsubscribe", GRAPH),
    ("resources/unsubscribe", {"uri": "x"}),
    ("tools/list", {"_meta": ENVELOPE}),
    ("server/discover", {}),
    ("subscriptions/listen", {"notifications": {}}),
    greeting("2024-11-05"),
    ("initialize", {}),
    ("tools/call", {"name": "recall", "arguments": {"query": ""}, "_meta": {"progressToken": []}}),
]
MODERN_REQUESTS = [
    *[
        (method, {**params, "_meta": ENVELOPE})
        for method, params in (
            ("server/discover", {}),
            *COMMON[:8],
            *COMMON[9:],
            ("ping", {}),
            ("logging/setLevel", {"level": "info"}),
            ("resources/subscribe", GRAPH),
            ("subscriptions/listen", {}),
            ("subscriptions/listen", {"notifications": 3}),
            greeting(),
        )
    ],
    greeting(),
    ("tools/list", {}),
    ("tools/list", {"_meta": {protocol.VERSION_KEY: protocol.MODERN_VERSION}}),
    ("tools/list", {"_meta": {**ENVELOPE, protocol.VERSION_KEY: "2099-01-01"}}),
    ("tools/list", {"_meta": {**ENVELOPE, protocol.VERSION_KEY: 3}}),
    ("tools/list", {"_meta": {**ENVELOPE, protocol.CLIENT_KEY: None}}),
    ("tools/list", {"_meta": {**ENVELOPE, protocol.CLIENT_KEY: 3}}),
    ("tools/list", {"_meta": {**ENVELOPE, protocol.CAPABILITIES_KEY: None}}),
    ("tools/list", {"_meta": {**ENVELOPE, protocol.LEVEL_KEY: "loud"}}),
]


@pytest.mark.parametrize(
    "requests",
    [
        HANDSHAKE_REQUESTS,
        MODERN_REQUESTS,
        *([greeting(asked)] for asked in (*protocol.HANDSHAKE_VERSIONS, "2026-07-28", "1999")),
    ],
    ids=["handshake", "2026-07-28", *protocol.HANDSHAKE_VERSIONS, "asked for 2026", "unknown"],
)
def test_every_request_gets_the_same_response_as_from_the_sdk(
    tmp_path: Path, requests: Sequence[tuple[str, dict[str, Any]]]
) -> None:
    ours = [of_ours(one) for one in answers_of_ours(tmp_path / "ours", requests)]

    theirs = [of_ours(one) for one in answers_of_the_sdk(tmp_path / "theirs", requests)]

    assert ours == theirs


def of_ours(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without the reason that ours gives where the SDK gives none."""
    error = answer.get("error", {})
    return (
        {**answer, "error": {**error, "data": ""}}
        if error.get("code") == INVALID_PARAMS
        else answer
    )


def numbered(requests: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    for number, (method, params) in enumerate(requests):
        yield {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


class Ours:
    """A session in this process, and the messages that it has sent."""

    def __init__(self, home: Path) -> None:
        home.parent.mkdir(exist_ok=True)
        self.store = StoreThread(lambda: Memory.open(mcp_clients.settings(home)))
        self.said: list[Any] = []
        self.session = Session(
            self.store, SAID_BY, "", lambda line: self.said.append(json.loads(line))
        )

    def take(self, message: Any) -> None:
        """Give it one line."""
        self.session.take(json.dumps(message).encode())

    def end(self) -> list[Any]:
        """All that it has said, once everything is answered."""
        self.session.end(WAIT_S)
        assert self.store.close(WAIT_S)
        return self.said


def answers_of_ours(
    folder: Path, requests: Sequence[tuple[str, dict[str, Any]]]
) -> list[dict[str, Any]]:
    folder.mkdir()
    ours = Ours(folder / "home")
    for message in numbered(requests):
        ours.take(message)
    return sorted(ours.end(), key=lambda answer: int(answer["id"]))


def answers_of_the_sdk(
    folder: Path, requests: Sequence[tuple[str, dict[str, Any]]]
) -> list[dict[str, Any]]:
    folder.mkdir()
    store = StoreThread(lambda: Memory.open(mcp_clients.settings(folder / "home")))
    server = MemoryServer(store, SAID_BY).server
    found: list[dict[str, Any]] = []

    async def story() -> None:
        say, said = anyio.create_memory_object_stream[SessionMessage | Exception](1)
        tell, told = anyio.create_memory_object_stream[SessionMessage](1)
        async with anyio.create_task_group() as group, say, told:
            group.start_soon(server.run, said, tell, server.create_initialization_options())
            for message in numbered(requests):
                parsed = jsonrpc_message_adapter.validate_python(message, by_name=False)
                await say.send(SessionMessage(parsed))
                answer = (await told.receive()).message
                found.append(answer.model_dump(mode="json", by_alias=True, exclude_unset=True))
            group.cancel_scope.cancel()

    run(story)
    assert store.close(WAIT_S)
    return found


def test_every_protocol_version_of_the_sdk_is_supported() -> None:
    assert protocol.HANDSHAKE_VERSIONS == version.HANDSHAKE_PROTOCOL_VERSIONS
    assert (protocol.MODERN_VERSION,) == version.MODERN_PROTOCOL_VERSIONS


# What a parameter may be given as, of which some is right for each; no 0 and 1, which the models
# also take for truth values.
PIECES = st.sampled_from(
    [None, True, False, 7, 1.5, "", "info", "2025-11-25", [], ["a"], [3], {}, {"a": 1}, CLIENT]
)
KEYS = ("name", "arguments", "uri", "cursor", "protocolVersion", "capabilities", "clientInfo")
FILTERS = st.dictionaries(
    st.sampled_from([*protocol.CHANGES, "resourceSubscriptions", "other"]), PIECES, max_size=3
)
METAS = st.dictionaries(
    st.sampled_from(["progressToken", protocol.CLIENT_KEY, protocol.LEVEL_KEY, "other"]),
    PIECES,
    max_size=3,
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted({*HANDSHAKE, *MODERN})),
    st.dictionaries(st.sampled_from(KEYS), PIECES, max_size=4),
    st.one_of(st.just({}), st.fixed_dictionaries({"notifications": FILTERS | PIECES})),
    METAS | PIECES,
)
@example("subscriptions/listen", {}, {"notifications": {"toolsListChanged": None}}, {})
def test_parameters_that_the_sdk_models_refuse_are_refused(
    method: str, params: dict[str, Any], more: dict[str, Any], meta: Any
) -> None:
    spoken = protocol.MODERN_VERSION if method not in HANDSHAKE else "2025-11-25"
    if spoken == protocol.MODERN_VERSION:
        meta = {**ENVELOPE, **meta} if isinstance(meta, dict) else ENVELOPE
    whole = {**params, **more, "_meta": meta}
    if whole["_meta"] is None:
        del whole["_meta"]

    def refused_by_ours() -> bool:
        try:
            protocol.check(method, whole)
        except Fault as fault:
            assert fault.code == INVALID_PARAMS
            return True
        return False

    def refused_by_the_sdk() -> bool:
        try:
            methods.validate_client_request(method, spoken, whole)
        except ValidationError:
            return True
        # Null arguments are the reference server's to refuse.
        return method == "tools/call" and whole.get("arguments", {}) is None

    assert refused_by_ours() == refused_by_the_sdk()


IDS = st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=50)
@given(IDS)
def test_a_response_has_the_id_of_its_request_unchanged(identifier: Any) -> None:
    session, said = alone()

    session.take(json.dumps({"jsonrpc": "2.0", "id": identifier, "method": "ping"}).encode())

    assert [json.loads(line)["id"] for line in said] == [identifier]


@settings(max_examples=50)
@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: json.dumps(text).encode()))
def test_after_any_line_the_next_line_is_still_read(line: bytes) -> None:
    session, said = alone()

    session.take(line.replace(b"\n", b""))
    session.take(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')

    assert json.loads(said[-1]) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert all(json.loads(answer)["error"]["code"] in (-32700, -32600) for answer in said[:-1])


def alone() -> tuple[Session, list[bytes]]:
    """A session that is asked for nothing that needs a memory."""
    said: list[bytes] = []
    return Session(NOWHERE, SAID_BY, "", said.append), said


def _no_memory() -> Memory:
    raise AssertionError("nothing was to be opened")


NOWHERE = StoreThread(_no_memory)


@pytest.mark.parametrize(
    ("message", "id_", "reason"),
    [
        ({"id": 1, "method": "ping"}, 1, "jsonrpc is not 2.0"),
        ({"jsonrpc": "1.0", "id": "a", "method": "ping"}, "a", "jsonrpc is not 2.0"),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None, "an id is a text or a number"),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None, "an id is a text or a number"),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, None, "an id is a text or a number"),
        (
            {"jsonrpc": "2.0", "id": float("inf"), "method": "ping"},
            None,
            "an id is a text or a number",
        ),
        ({"jsonrpc": "2.0", "id": 1}, 1, "a method is a text"),
        ({"jsonrpc": "2.0", "id": 1, "method": 3, "result": {}}, 1, "a method is a text"),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, 1, "params are an object"),
        (7, None, "a message is an object"),
    ],
)
def test_the_error_for_an_invalid_message_has_its_id_and_the_reason(
    message: Any, id_: Any, reason: str
) -> None:
    session, said = alone()

    session.take(json.dumps(message).encode())

    about = {"code": -32600, "message": "Invalid Request", "data": reason}
    assert [json.loads(line) for line in said] == [{"jsonrpc": "2.0", "id": id_, "error": about}]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b" \t\r",
        b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 1, "error": {}}',
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b'{"jsonrpc": "2.0", "method": "ping"}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}',
    ],
)
def test_blank_lines_responses_and_notifications_get_no_answer(line: bytes) -> None:
    session, said = alone()

    session.take(line)

    assert said == []


def test_only_ping_and_the_handshake_are_answered_before_the_handshake() -> None:
    session, said = alone()

    for method in ("tools/list", "ping"):
        line = {"jsonrpc": "2.0", "id": method, "method": method, "params": None}
        session.take(json.dumps(line).encode())
    session.take(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    session.take(b'{"jsonrpc": "2.0", "id": 1, "method": "resources/templates/list"}')

    refused, pong, listed = map(json.loads, said)
    assert refused["error"]["data"] == "initialize comes first"
    assert pong["result"] == {} and listed["result"] == {"resourceTemplates": []}


def test_a_batch_of_requests_is_refused(tmp_path: Path) -> None:
    ours = Ours(tmp_path / "home")

    ours.take([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])

    (refused,) = ours.end()
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)


def test_a_cancelled_request_that_was_still_waiting_is_neither_run_nor_answered(
    tmp_path: Path,
) -> None:
    ours = Ours(tmp_path / "home")
    ours.take({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting()[1]})
    goes_on = threading.Event()
    ours.store.submit(lambda memory: goes_on.wait(WAIT_S), lambda *_: None)
    for number in (1, 2):
        entity = {"name": f"e{number}", "entityType": "t", "observations": []}
        method, params = call("create_entities", {"entities": [entity]})
        ours.take({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    cancelled = {"requestId": 1, "reason": "changed my mind"}
    ours.take({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
    goes_on.set()
    method, params = call("read_graph", {})
    ours.take({"jsonrpc": "2.0", "id": 3, "method": method, "params": params})

    _, second, read = ours.end()
    assert (second["id"], read["id"]) == (2, 3)
    names = [entity["name"] for entity in read["result"]["structuredContent"]["entities"]]
    assert names == ["e2"]


def test_a_client_that_subscribes_twice_is_notified_once_and_after_unsubscribing_not_at_all(
    tmp_path: Path,
) -> None:
    ours = Ours(tmp_path / "home")
    ours.take({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting()[1]})
    more = {"entities": [{"name": "db", "entityType": "t", "observations": ["y"]}]}
    other, tool = {"uri": "memory://else"}, "create_entities"
    asked = [
        *[("resources/subscribe", GRAPH), ("resources/subscribe", GRAPH)],
        *[("resources/unsubscribe", other), call(tool, API), call("read_graph", {})],
        *[("resources/unsubscribe", GRAPH), ("resources/subscribe", other), call(tool, more)],
    ]
    for number, (method, params) in enumerate(asked, 1):
        ours.take({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    said = ours.end()

    update = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": GRAPH}
    assert [one.get("id") for one in said] == [0, 1, 2, 3, None, 4, 5, 6, 7, 8]
    assert said[4] == update


def test_only_subscribers_of_the_graph_are_notified_by_the_id_of_their_subscription(
    tmp_path: Path,
) -> None:
    ours = Ours(tmp_path / "home")
    for id_, wanted in (
        ("a", {"resourceSubscriptions": [protocol.GRAPH_URI], "promptsListChanged": False}),
        ("b", {"resourceSubscriptions": ["memory://else"], "toolsListChanged": True}),
    ):
        params = {"_meta": ENVELOPE, "notifications": wanted}
        method = "subscriptions/listen"
        ours.take({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
    method, params = call("create_entities", API)
    params["_meta"] = ENVELOPE
    ours.take({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    heard = threading.Event()
    ours.store.submit(lambda memory: None, lambda *_: heard.set())
    assert heard.wait(WAIT_S)

    said = ours.end()

    listened = {"resourceSubscriptions": [protocol.GRAPH_URI]}
    others = {"toolsListChanged": True, "resourceSubscriptions": ["memory://else"]}
    notified = [one["params"] for one in said if one.get("method", "").endswith("acknowledged")]
    by_id = {one["_meta"][protocol.SUBSCRIPTION_KEY]: one["notifications"] for one in notified}
    assert by_id == {"a": listened, "b": others}
    (update,) = [one for one in said if one.get("method", "").endswith("updated")]
    assert update["params"]["uri"] == protocol.GRAPH_URI
    assert update["params"]["_meta"] == {protocol.SUBSCRIPTION_KEY: "a"}
    (created,) = [one for one in said if one.get("id") == 1]
    assert created["result"]["_meta"] == {protocol.SERVER_KEY: protocol.SERVER_INFO}
    assert created["result"]["resultType"] == "complete"


@pytest.mark.parametrize("is_modern", [True, False])
@pytest.mark.parametrize("client", ["claude-code", "another"])
def test_a_call_without_its_id_is_refused_to_claude_code_if_an_agent_is_isolated(
    tmp_path: Path, client: str, *, is_modern: bool
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('[domains.legal]\nagents = ["x"]\nisolate = true\n')
    ours = Ours(home)
    stated = {"name": client, "version": "0"}
    method, params = call("read_graph", {})
    if is_modern:
        params["_meta"] = {**ENVELOPE, protocol.CLIENT_KEY: stated}
    else:
        greets = {**greeting()[1], "clientInfo": stated}
        ours.take({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greets})
    ours.take({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    answer = ours.end()[-1]

    assert answer["result"].get("isError", False) is (client == "claude-code")


def test_subscribers_get_a_final_message_when_the_input_of_the_server_ends(tmp_path: Path) -> None:
    ours = Ours(tmp_path / "home")
    params = {"_meta": ENVELOPE, "notifications": {"resourceSubscriptions": [protocol.GRAPH_URI]}}
    ours.take({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params})
    heard = threading.Event()
    ours.store.submit(lambda memory: None, lambda *_: heard.set())
    assert heard.wait(WAIT_S)

    acknowledged, ended = ours.end()

    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert ended["id"] == "l"
    assert ended["result"]["_meta"][protocol.SUBSCRIPTION_KEY] == "l"


def test_a_subscription_to_tool_list_changes_does_not_open_the_memory() -> None:
    session, said = alone()
    params = {"_meta": ENVELOPE, "notifications": {"toolsListChanged": True}}
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}

    session.take(json.dumps(listen).encode())

    (acknowledged,) = map(json.loads, said)
    assert acknowledged["params"]["notifications"] == {"toolsListChanged": True}
