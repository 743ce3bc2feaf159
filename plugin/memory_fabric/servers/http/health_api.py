"""Health endpoints: liveness, and readiness to store and process texts."""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, Response

from memory_fabric.servers.http.responses import RETRY_AFTER_S

if TYPE_CHECKING:
    from starlette.requests import Request

    from memory_fabric.servers.http.batching import BatchedWriter
    from memory_fabric.servers.http.ingest_process import WorkerChild

# No key is needed, so the disk is checked at most once a second; no reply in time is a failure.
LOOK_EVERY_S, PATIENCE_S = 1.0, 5.0


class HealthApi:
    """Health endpoints for process monitoring."""

    def __init__(self, writer: BatchedWriter, worker: WorkerChild) -> None:
        self._writer, self._worker = writer, worker
        self._looked_at, self._reasons = -LOOK_EVERY_S, [""]
        self._looking = asyncio.Lock()

    async def lives(self, _request: Request) -> Response:
        """Return 200: the process answers."""
        return JSONResponse({"status": "ok"})

    async def is_ready(self, _request: Request) -> Response:
        """Return 200 if texts can be stored and processed, else 503 with the reasons."""
        async with self._looking:
            if time.monotonic() - self._looked_at >= LOOK_EVERY_S:
                self._reasons = await self._found()
                self._looked_at = time.monotonic()
        if not self._reasons:
            return JSONResponse({"status": "ready"})
        return JSONResponse(
            {"status": "not ready", "reasons": self._reasons},
            HTTPStatus.SERVICE_UNAVAILABLE,
            {"Retry-After": str(RETRY_AFTER_S)},
        )

    async def _found(self) -> list[str]:
        try:
            async with asyncio.timeout(PATIENCE_S):
                memory = await self._writer.complaint()
        except TimeoutError:
            memory = "The memory does not answer."
        waiting = "Too many texts wait to be processed." if self._writer.is_full else ""
        return [reason for reason in (memory, self._worker.complaint(), waiting) if reason]
