"""The connection of one MCP client: it parses messages and sends responses. One thread parses the
lines. The store's thread answers requests that need the memory, in the order of their arrival; all
other requests are answered at once.
"""

import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from memory_fabric.errors import FabricError
from memory_fabric.models import Provenance
from memory_fabric.servers.mcp import jsonrpc, protocol
from memory_fabric.servers.mcp.jsonrpc import Fault, Message, Outcome, wire
from memory_fabric.servers.store_thread import Job, StoreThread, Watch, mark_of

Result = dict[str, Any]
Handler = Callable[["Session", Message], Result | None]
# Called with a job's value or error; returns the result, or None if the response is sent later.
Finish = Callable[[Any, BaseException | None], Result | None]
UPDATED = "notifications/resources/updated"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class Session:
    """The connection of a client; `place` is the client's folder. `send` must not block."""

    def __init__(
        self, store: StoreThread, said_by: Provenance, place: str, send: Callable[[bytes], None]
    ) -> None:
        self._store, self._send = store, send
        self._said_by, self._place = said_by, place
        self._modern: bool | None = None
        self._greeted, self._client = False, ""
        self._subscribed = False
        # Unanswered requests; for the subscriptions among them, True if they include the graph.
        self._open: set[Message] = set()
        self._listening: dict[Message, bool] = {}
        self._settled = threading.Condition()
        self._watch = Watch(store, self._tell)

    def take(self, line: bytes) -> None:
        """Handle a line from the client, and respond now or later. Raises no exception."""
        if not line.strip():
            return
        try:
            message = jsonrpc.message_of(line)
        except Fault as fault:
            self._say(jsonrpc.error(fault, fault.id))
            return
        if message is None:
            return
        if message.id is not None:
            with self._settled:
                self._open.add(message)
            self._finish(message, lambda: self._answer(message))
        elif message.method == "notifications/initialized":
            self._greeted = True
        elif message.method == "notifications/cancelled":
            request_id = message.params.get("requestId")
            for request in [one for one in list(self._open) if one.id == request_id]:
                self._settle(request, None)

    def end(self, timeout_s: float) -> None:
        """End all subscriptions; wait up to `timeout_s` seconds until all requests are answered."""
        for request in list(self._listening):
            meta = {protocol.SUBSCRIPTION_KEY: request.id}
            self._settle(request, self._result(request, {"_meta": meta}))
        with self._settled:
            self._settled.wait_for(lambda: not self._open, timeout_s)

    def _answer(self, request: Message) -> Result | None:
        """Return the result of a request, or None if the response is sent later. Raises Fault."""
        method, params = request.method, request.params
        meta, greets = params.get("_meta"), method == "initialize"
        enveloped = isinstance(meta, dict) and protocol.VERSION_KEY in meta
        if self._modern is None:
            self._modern = enveloped and not greets
        if self._modern and greets:
            asked = protocol.versions(params.get("protocolVersion"))
            raise Fault(protocol.UNSUPPORTED_VERSION, protocol.NO_HANDSHAKE, asked)
        if self._modern:
            protocol.check_envelope(params)
        elif enveloped and not greets:
            raise Fault(jsonrpc.INVALID_REQUEST, protocol.NO_ENVELOPES)
        if (handler := (MODERN if self._modern else HANDSHAKE).get(method)) is None:
            raise Fault(jsonrpc.METHOD_NOT_FOUND, "Method not found", method)
        if not (self._modern or self._greeted or method in ("initialize", "ping")):
            raise protocol.invalid("initialize comes first")
        protocol.check(method, params)
        return handler(self, request)

    def _initialize(self, request: Message) -> Result:
        self._greeted, self._client = True, request.params["clientInfo"]["name"]
        return protocol.greeting(request.params["protocolVersion"])

    def _call(self, request: Message) -> None:
        from memory_fabric.servers.mcp import tools  # imported after the handshake

        name, arguments = request.params["name"], request.params.get("arguments", {})
        if (wrong := tools.complaint(name, arguments)) is not None:
            self._settle(request, self._result(request, wire(wrong)))
            return
        meta = request.params.get("_meta")
        # From version 2026-07-28 on, each request may contain the client's name.
        stated = meta.get(protocol.CLIENT_KEY) if meta and self._modern else None
        client = str(stated["name"]) if stated else self._client
        handler = tools.RequestHandler(self._said_by, self._place, self._watch)

        def done(outcome: Outcome | None, error: BaseException | None) -> Result:
            if isinstance(error, FabricError):
                return wire(Outcome((str(error),), failed=True))  # the memory cannot be opened
            if outcome is None:
                raise error or AssertionError
            if outcome.changed:
                self._tell()
            return wire(outcome)

        job = partial(handler.call, name=name, arguments=arguments, meta=meta, client=client)
        self._ask(request, job, done, changes=name not in tools.READERS)

    def _read(self, request: Message) -> None:
        from memory_fabric.servers.mcp.tools import RequestHandler  # imported after the handshake

        if request.params["uri"] != protocol.GRAPH_URI:
            raise protocol.not_found(request.params["uri"])

        def done(text: str | None, error: BaseException | None) -> Result:
            if isinstance(error, FabricError):
                raise Fault(jsonrpc.INTERNAL_ERROR, str(error))
            if text is None:
                raise error or AssertionError
            resource = {"uri": protocol.GRAPH_URI, "mimeType": protocol.JSON_TYPE, "text": text}
            return {"contents": [resource], **protocol.KEPT}

        handler = RequestHandler(self._said_by, self._place, self._watch)
        self._ask(request, handler.whole_graph, done)

    def _subscribe(self, request: Message) -> None:
        def begun() -> Result:
            if request.params["uri"] == protocol.GRAPH_URI and not self._subscribed:
                self._subscribed = True
            else:
                self._watch.stop()
            return {}

        self._begin_to_watch(request, begun)

    def _unsubscribe(self, request: Message) -> None:
        def done(*_: object) -> Result:
            if request.params["uri"] == protocol.GRAPH_URI and self._subscribed:
                self._subscribed = False
                self._watch.stop()
            return {}

        self._ask(request, lambda memory: None, done)  # an empty job: responses keep their order

    def _listen(self, request: Message) -> None:
        stated = request.params["notifications"]
        honoured: Result = {kind: True for kind in protocol.CHANGES if stated.get(kind)}
        uris = list(stated.get("resourceSubscriptions") or ())
        honoured |= {"resourceSubscriptions": uris} if uris else {}
        hears = protocol.GRAPH_URI in uris

        def begun() -> None:
            with self._settled:
                if is_open := request in self._open:
                    self._listening[request] = hears
            if is_open:
                meta = {protocol.SUBSCRIPTION_KEY: request.id}
                params = {"_meta": meta, "notifications": honoured}
                self._say(jsonrpc.notification(ACKNOWLEDGED, params))
            elif hears:
                self._watch.stop()

        if hears:
            self._begin_to_watch(request, begun)
        else:
            begun()  # acknowledge at once: without the graph, there is nothing to watch

    def _begin_to_watch(self, request: Message, begun: Callable[[], Result | None]) -> None:
        """Start to watch the graph; then call `begun()` and respond with its result unless None."""

        def done(mark: Any, error: BaseException | None) -> Result | None:
            if error is not None:
                print(f"memory-fabric: watching: {error}", file=sys.stderr)  # noqa: T201
            self._watch.start(mark)
            return begun()

        self._ask(request, mark_of, done)

    def _ask(self, request: Message, job: Job, done: Finish, *, changes: bool = False) -> None:
        """Run a job in the store's thread; respond with the result of `done(value, error)`."""

        def finish(value: Any, error: BaseException | None) -> None:
            self._finish(request, lambda: done(value, error))

        self._store.submit(job, finish, changes=changes, wanted=lambda: request in self._open)

    def _finish(self, request: Message, answering: Callable[[], Result | None]) -> None:
        """Respond with the result of `answering()`, unless it is None, or with the raised error."""
        try:
            result = answering()
            answer = None if result is None else self._result(request, result)
        except Fault as fault:
            answer = jsonrpc.error(fault, request.id)
        except Exception as error:  # noqa: BLE001 - one failing request must not end the others
            text = f"{type(error).__name__}: {error}"
            print(f"memory-fabric: {request.method}: {text}", file=sys.stderr)  # noqa: T201
            answer = jsonrpc.error(Fault(jsonrpc.INTERNAL_ERROR, text), request.id)
        if answer is not None:
            self._settle(request, answer)

    def _settle(self, request: Message, answer: Result | None) -> None:
        """Mark a request as done and send any `answer`; ignore a request that was done before."""
        with self._settled:
            if request not in self._open:
                return
            self._open.remove(request)
            if self._listening.pop(request, False):
                self._watch.stop()
        if answer is not None:
            self._say(answer)
        with self._settled:
            self._settled.notify_all()

    def _tell(self) -> None:
        if self._subscribed:
            self._say(jsonrpc.notification(UPDATED, {"uri": protocol.GRAPH_URI}))
        for request, hears in list(self._listening.items()):
            if hears:
                meta = {protocol.SUBSCRIPTION_KEY: request.id}
                self._say(jsonrpc.notification(UPDATED, {"_meta": meta, "uri": protocol.GRAPH_URI}))

    def _result(self, request: Message, found: Result) -> Result:
        """Return the response with this result, as the connection's protocol version requires."""
        if self._modern:
            meta = {**found.get("_meta", {}), protocol.SERVER_KEY: protocol.SERVER_INFO}
            found = {**found, "resultType": "complete", "_meta": meta}
        else:
            found = {key: value for key, value in found.items() if key not in protocol.KEPT}
        return {"jsonrpc": jsonrpc.VERSION, "id": request.id, "result": found}

    def _say(self, message: Result) -> None:
        self._send(jsonrpc.line_of(message))


_BOTH: Mapping[str, Handler] = {
    "tools/list": lambda session, _: protocol.tool_list(modern=bool(session._modern)),
    "tools/call": Session._call,
    "resources/list": lambda *_: protocol.RESOURCES,
    "resources/templates/list": lambda *_: protocol.TEMPLATES,
    "resources/read": Session._read,
}
HANDSHAKE: Mapping[str, Handler] = {
    **_BOTH, "initialize": Session._initialize, "ping": lambda *_: {},
    "resources/subscribe": Session._subscribe, "resources/unsubscribe": Session._unsubscribe,
}  # fmt: skip
MODERN: Mapping[str, Handler] = {
    **_BOTH,
    "server/discover": lambda *_: protocol.DISCOVERY,
    "subscriptions/listen": Session._listen,
}
