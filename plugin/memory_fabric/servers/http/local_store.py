"""The local memory behind the HTTP application: projects, readers, ingest queue and worker."""

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memory_fabric import config, errors, ingest_protocol, models
from memory_fabric.servers.http import page_changes
from memory_fabric.servers.http import project_stores as pages
from memory_fabric.servers.http.ingest import BatchedWriter, Outcome, WorkerChild
from memory_fabric.servers.http.project_stores import ProjectStores, ReaderPool, need_folder
from memory_fabric.servers.http.requests import ChangeBody, PageQuery, model_in, query_in
from memory_fabric.servers.http.responses import Job, PageJobs
from memory_fabric.servers.http.routes import Store
from memory_fabric.store.memory import Memory
from memory_fabric.store.queues.ingest_queue import QueuedText

# Seconds for each memory to write the other tiers at shutdown.
CLOSE_GRACE_S = 0.5


class LocalStore(Store):
    """The memory of one local project, and of its home's other projects unless `only_served`."""

    def __init__(
        self,
        settings: config.Settings,
        *,
        workers: int = 1,
        only_served: bool = False,
        open_memory: Callable[[], Memory] | None = None,
        worker: WorkerChild | None = None,
    ) -> None:
        self._settings = settings
        projects = partial(pages.projects, only_served=only_served)
        self.page = PageJobs(pages.picture, pages.explained, pages.history, pages.status, projects)
        self._stores = ProjectStores(settings, only_served=only_served, open_memory=open_memory)
        self._readers = ReaderPool(settings, workers, only_served=only_served)
        self.worker = worker or WorkerChild(settings.project_dir)
        self.writer = BatchedWriter(
            open_memory or (lambda: Memory.open(settings)),
            self._stores.served,
            settings.serve_backlog,
            self.worker.start,
            check=lambda: need_folder(settings.project_dir),
        )
        self.more_routes = [Route(page_changes.PATH, self._change, methods=["POST"])]

    async def begin(self) -> None:
        """Start the worker if an earlier server left texts; later requests report a failure."""
        try:
            backlog = await self.writer.backlog()
            if backlog.waiting or backlog.working:
                self.worker.start()
        except errors.FabricError:
            return
        except Exception as error:  # noqa: BLE001 - the server answers, if only with errors
            print(f"memory-fabric: {type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201

    async def end(self) -> None:
        self._stores.close_others(CLOSE_GRACE_S)
        await asyncio.gather(self.worker.end(), self._readers.end())

    def close(self, timeout_s: float = CLOSE_GRACE_S) -> None:
        self.writer.close(timeout_s)
        self._stores.served.close(timeout_s)

    async def admit(self, holder: str) -> None:
        """Admit every holder of a key, because the guard has already checked the key."""

    async def answer(self, holder: str, job: Job, project: str = "") -> Response:
        """Return the result of a read-only job as a response, from a reader process if one runs."""
        return await self._readers.answer(job, project, lambda: self._stores.answer(job, project))

    async def accept(self, holder: str, ingest: ingest_protocol.Ingest) -> Outcome:
        return await self.writer.accept(ingest)

    async def ingested(self, holder: str, id_: str) -> QueuedText | None:
        return await self.writer.find(id_)

    async def reasons(self) -> list[str]:
        memory = await self.writer.complaint()
        backlog = "Too many texts wait to be processed." if self.writer.is_full else ""
        return [reason for reason in (memory, self.worker.complaint(), backlog) if reason]

    def mcp_manager(self, max_bytes: int) -> Any:
        """Return the manager of MCP sessions, which all use this memory."""
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from memory_fabric.servers.mcp.sdk_server import MemoryServer  # imported on first use

        author, origin = self._settings.author, self._settings.origin
        by = models.Provenance(source="mcp", trust="tool", author=author, origin=origin)
        server = MemoryServer(self._stores.served, by).server
        return StreamableHTTPSessionManager(
            server, max_request_body_size=max_bytes, max_sessions=256
        )

    async def _change(self, request: Request) -> Response:
        change = (await model_in(request, ChangeBody, page_changes.MAX_BYTES)).root
        project = query_in(request, PageQuery).project
        job = partial(page_changes.carry_out, asked=change)
        changes = not page_changes.is_preview(change)
        return await self._stores.answer(job, project, changes=changes)
