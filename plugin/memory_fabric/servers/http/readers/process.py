"""A reader: a process that answers questions to the memory for the server that started it.

It takes one request after another from standard input and ends with it, however the server ends.
It has its own connections, which see each commit, and writes nothing.
"""

import asyncio
import os
import pickle
import signal
import sys
from collections.abc import Mapping
from typing import BinaryIO

from starlette.requests import Request
from starlette.responses import Response

from memory_fabric.config import Settings
from memory_fabric.servers import store_thread
from memory_fabric.servers.http import recall_api
from memory_fabric.servers.http.project_stores import ProjectStores, need_folder
from memory_fabric.servers.http.readers import frames
from memory_fabric.servers.http.readers.routes import Handler, read_routes
from memory_fabric.servers.http.responses import of_error
from memory_fabric.servers.store_thread import StoreThread
from memory_fabric.store.memory import Memory

# Loads what the first question needs.
WARM_UP = (recall_api.PATH, b"q=warm+up&limit=1")
CLOSE_GRACE_S = 0.5
READY = "ready"


def main() -> None:
    """Answer requests from standard input until it ends."""
    # Ctrl-C reaches every process of a terminal; the server ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no frame
    requests = sys.stdin.buffer
    given = frames.read(requests)
    if given is None:
        return
    settings, only_served = pickle.loads(given)
    store = StoreThread(
        lambda: Memory.open(settings),
        check=lambda: need_folder(settings.project_dir),
        answers_one=True,
    )
    stores = ProjectStores(store, settings, only_served=only_served)
    handlers = read_routes(stores)
    with asyncio.Runner() as runner:
        runner.run(_answer(handlers, *WARM_UP))
        store_thread.settle()
        _tell(answers, READY)
        while (asked := frames.read(requests)) is not None:
            response = runner.run(_answer(handlers, *asked))
            # A status is a number with a name in Starlette's answers to errors; marshal has none.
            status = int(response.status_code)
            _tell(answers, (status, response.raw_headers, bytes(response.body)))
    stores.close(CLOSE_GRACE_S)
    store.close(CLOSE_GRACE_S)


def given_to(settings: Settings, *, only_served: bool) -> bytes:
    """Return the first frame for a reader."""
    return frames.packed(pickle.dumps((settings, only_served)))


def _tell(answers: BinaryIO, value: object) -> None:
    answers.write(frames.packed(value))
    answers.flush()


async def _answer(handlers: Mapping[str, Handler], path: str, query: bytes) -> Response:
    scope = {"type": "http", "method": "GET", "path": path, "query_string": query, "headers": []}
    try:
        return await handlers[path](Request(scope))
    except Exception as error:  # noqa: BLE001 - one request must not end the reader
        return of_error(error)


if __name__ == "__main__":
    main()
