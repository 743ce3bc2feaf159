"""The body of a request, whole and bounded: in size, announced or not, and in the time it takes."""

import asyncio
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory_fabric.servers.http.responses import Refused

MAX_BYTES = 1 << 20
# For all of it, however it comes.
BODY_S = 10.0


async def whole_body(scope: Scope, receive: Receive, max_bytes: int = MAX_BYTES) -> bytes:
    """The body, once all of it is here. Raises Refused: too large, too slow, or broken off.

    What announces too much is refused before a byte of it is read.
    """
    announced = Headers(scope=scope).get("content-length", "")
    if announced.isdigit() and int(announced) > max_bytes:
        raise _too_large(max_bytes)
    try:
        async with asyncio.timeout(BODY_S):
            body = await _all_of(receive, max_bytes)
    except TimeoutError as error:
        raise too_slow() from error
    if len(body) > max_bytes:
        raise _too_large(max_bytes)
    return body


async def _all_of(receive: Receive, max_bytes: int) -> bytes:
    """The body; of one that is too large, a part that is so, too."""
    body, more = bytearray(), True
    while more and len(body) <= max_bytes:
        message = await _next(receive)
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return bytes(body)


async def _next(receive: Receive) -> Message:
    message = await receive()
    if message["type"] != "http.request":
        raise Refused(HTTPStatus.BAD_REQUEST, "broken_off", "The body is incomplete.")
    return message


class WithBody:
    """An application that is given its whole body at once, bounded as `whole_body` bounds it."""

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app, self._max_bytes = app, max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer once the body is here."""
        try:
            body = await whole_body(scope, receive, self._max_bytes)
        except Refused as refused:
            await refused.answer(scope, receive, send)
            return
        given = False

        async def once_more() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, once_more, send)


def too_slow() -> Refused:
    """The answer to a body that takes too long."""
    return Refused(
        HTTPStatus.REQUEST_TIMEOUT,
        "too_slow",
        f"The body did not arrive within {BODY_S:g} seconds.",
        headers={"Connection": "close"},
    )


def _too_large(max_bytes: int) -> Refused:
    return Refused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "too_large",
        f"The body is larger than {max_bytes:,} bytes.",
        "Send it in parts.",
    )
