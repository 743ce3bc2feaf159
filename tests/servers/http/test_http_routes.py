"""The application in this process: an unforeseen fault is JSON, the end comes all the same."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from memory_fabric.servers.http import guard as auth
from memory_fabric.servers.http import routes as app
from memory_fabric.servers.http.guard import Guard, Names, Rate
from memory_fabric.servers.http.ingest import WorkerChild
from memory_fabric.servers.http.keys import Keys
from memory_fabric.servers.http.local_store import LocalStore
from memory_fabric.servers.http.routes import application
from memory_fabric.store.memory import Memory
from servers.mcp_clients import settings

WAIT_S = 60
STAYS = (sys.executable, "-c", "import time\ntime.sleep(99)")


class World:
    """An application of its own with all that it asks, and a guard before it."""

    def __init__(self, home: Path, *, opens: bool = True) -> None:
        own = settings(home)
        self._path = str(home)

        def opened() -> Memory:
            if not opens:
                raise PermissionError(13, "Permission denied", self._path)
            return Memory.open(own)

        self.worker = WorkerChild(own.project_dir, command=STAYS)
        self.store = LocalStore(own, open_memory=opened, worker=self.worker)
        self.keys = Keys(own.home)
        self.app: Starlette = self._made()

    def _made(self) -> Starlette:
        made = application(self.store, keys_are_needed=lambda: self.keys.are_needed)
        made.router.routes.append(Route("/broken", self._broken))
        made.router.routes.append(Route("/half", self._half))
        return made

    async def _broken(self, _request: Request) -> Response:
        raise PermissionError(13, "Permission denied", self._path)

    async def _half(self, _request: Request) -> Response:
        async def parts() -> AsyncIterator[bytes]:
            yield b"half"
            raise PermissionError(13, "Permission denied", self._path)

        return StreamingResponse(parts())

    @asynccontextmanager
    async def client(
        self, app: Any = None, *, per_s: float = 1000
    ) -> AsyncIterator[httpx2.AsyncClient]:
        """A client with the key; faults of the application are its answer only."""
        names, rate = Names("127.0.0.1", 8002), Rate(per_s)
        guarded = Guard(app or self.app, self.keys, names, rate, "cookie")
        way = httpx2.ASGITransport(app=guarded, raise_app_exceptions=False)
        headers = {"Authorization": f"Bearer {self.keys.lasting}"}
        address = "http://127.0.0.1:8002"
        async with httpx2.AsyncClient(transport=way, base_url=address, headers=headers) as client:
            yield client

    def close(self) -> None:
        """End its threads."""
        self.store.close(WAIT_S)


def told(world: World, story: Any) -> None:
    """Run a story to its end."""

    async def whole() -> None:
        async with asyncio.timeout(WAIT_S):
            await story()

    try:
        asyncio.run(whole())
    finally:
        world.close()


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/readyz", 503),
        ("/broken", 500),
        ("/api/status", 500),
        ("/v1/memory/recall?q=x", 500),
        ("/v1/memory/ingest/01a2009b-3f00-7d3e-89c5-85aea0d36f41", 500),
    ],
)
def test_an_unexpected_error_is_answered_with_json_without_file_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, status: int
) -> None:
    world = World(tmp_path / "home", opens=False)

    async def story() -> None:
        async with world.client() as client:
            reply = await client.get(path)

        assert reply.status_code == status
        assert set(reply.json()) in ({"error"}, {"status", "reasons"})
        assert str(tmp_path) not in reply.text
        assert reply.headers["x-content-type-options"] == "nosniff"

    told(world, story)

    assert "PermissionError" in capsys.readouterr().err


def test_an_error_outside_a_route_handler_is_answered_with_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path / "home")

    async def broken(*_: Any) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    async def story() -> None:
        async with world.client(broken) as client:
            reply = await client.get("/healthz")

        assert (reply.status_code, reply.json()["error"]["code"]) == (500, "failed")
        assert str(tmp_path) not in reply.text

    told(world, story)

    assert "PermissionError" in capsys.readouterr().err


def test_an_error_during_a_response_starts_no_second_response(tmp_path: Path) -> None:
    world = World(tmp_path / "home")

    async def story() -> None:
        async with world.client() as client:
            reply = await client.get("/half")

        assert (reply.status_code, reply.content) == (200, b"half")

    told(world, story)


def test_health_checks_are_exempt_from_the_rate_limit_for_requests_without_a_key(
    tmp_path: Path,
) -> None:
    world = World(tmp_path / "home")
    nobody = {"Authorization": ""}

    async def story() -> None:
        async with world.client(per_s=0.001) as client:
            described = [await client.get("/openapi.json", headers=nobody) for _ in range(2)]
            with_key = await client.get("/openapi.json")
            health = [
                await client.get(path, headers=nobody)
                for path in ("/healthz", "/readyz", "/healthz", "/readyz")
            ]

        assert [one.status_code for one in described] == [200, 429]
        assert int(described[1].headers["retry-after"]) > 1
        assert with_key.status_code == 200
        assert [one.status_code for one in health] == [200] * 4

    told(world, story)


def test_healthz_and_readyz_have_separate_rate_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "HEALTH_PER_S", 0.001)
    world = World(tmp_path / "home")

    async def story() -> None:
        async with world.client() as client:
            lives = [(await client.get("/healthz")).status_code for _ in range(2)]
            ready = (await client.get("/readyz")).status_code

        assert (lives, ready) == ([200, 429], 200)

    told(world, story)


def test_readiness_is_checked_at_most_once_per_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path / "home")
    asked: list[str] = []
    given: Any = iter((["The disk is full."], []))

    async def reasons(_store: LocalStore) -> list[str]:
        asked.append("asked")
        return list(next(given))

    monkeypatch.setattr(LocalStore, "reasons", reasons)
    monkeypatch.setattr(app, "LOOK_EVERY_S", 3600.0)

    async def story() -> None:
        world.app = world._made()
        async with world.client() as client:
            first = [await client.get("/readyz") for _ in range(2)]
            monkeypatch.setattr(app, "LOOK_EVERY_S", 0.0)
            later = await client.get("/readyz")

        for reply in first:
            told_ = {"status": "not ready", "reasons": ["The disk is full."]}
            assert (reply.status_code, reply.json()) == (503, told_)
            assert int(reply.headers["retry-after"]) > 0
        assert (later.status_code, later.json()) == (200, {"status": "ready"})

    told(world, story)

    assert asked == ["asked", "asked"]


def test_a_readiness_check_that_takes_too_long_counts_as_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path / "home")

    async def reasons(_store: LocalStore) -> list[str]:
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr(LocalStore, "reasons", reasons)
    monkeypatch.setattr(app, "PATIENCE_S", 0.01)

    async def story() -> None:
        async with world.client() as client:
            reply = await client.get("/readyz")

        assert (reply.status_code, reply.json()["reasons"]) == (
            503,
            ["The memory does not answer."],
        )

    told(world, story)


def test_the_openapi_description_is_built_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(tmp_path / "home")

    def made_again(**_: Any) -> Any:
        raise AssertionError("it was made before")

    async def story() -> None:
        async with world.client() as client:
            first = await client.get("/openapi.json")
            monkeypatch.setattr(app, "document", made_again)
            again = await client.get("/openapi.json")

        assert (first.status_code, again.status_code) == (200, 200)
        assert first.content == again.content
        assert first.json()["paths"]["/healthz"]["get"]["security"] == []

    told(world, story)


def test_the_worker_ends_even_if_ending_the_mcp_sessions_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    @asynccontextmanager
    async def ends_badly(_manager: StreamableHTTPSessionManager) -> AsyncIterator[None]:
        yield
        raise RuntimeError("the sessions cannot be ended")

    monkeypatch.setattr(StreamableHTTPSessionManager, "run", ends_badly)
    world = World(tmp_path / "home")

    async def story() -> None:
        async with world.app.router.lifespan_context(world.app), world.client() as client:
            world.worker.start()
            await client.get("/mcp")
            while not _children():
                await asyncio.sleep(0)

    told(world, story)

    assert _children() == []
    assert "RuntimeError: the sessions cannot be ended" in capsys.readouterr().err


def _children() -> list[str]:
    """Processes of this one that run the command of the worker."""
    tasks = Path("/proc/self/task").iterdir()
    found = [one for task in tasks for one in _read(task / "children").decode().split()]
    return [one for one in found if b"time.sleep(99)" in _read(Path(f"/proc/{one}/cmdline"))]


def _read(path: Path) -> bytes:
    """The bytes of a file of a thread or process, none if it has ended meanwhile."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
