"""The worker of the ingest queue: `memory-fabric queue work` as a child of the server.

It is started with the first text, or at the start where some wait, and again when it ends; a page
that somebody looks at needs none.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

import memory_fabric
from memory_fabric.setup.packages import ENTRY

# The child finds the package where this process found it, and nothing in the project's folder.
SOURCE = os.path.dirname(os.path.dirname(memory_fabric.__file__))
_CACHE = ("-X", f"pycache_prefix={sys.pycache_prefix}") if sys.pycache_prefix else ()
COMMAND = (sys.executable, "-I", *_CACHE, "-c", ENTRY, SOURCE, "queue", "work")
# Whoever brings something in waits for the server; nobody waits for the worker.
NICE = 10
# After an end that was too soon, each pause is twice the last one.
FIRST_PAUSE_S, MOST_PAUSE_S = 0.5, 60.0
# Who worked so long did not fail at the start.
LONG_S = 30.0
# For the text in hand when the server ends; whoever comes next takes it up again.
END_GRACE_S = 2.0


class WorkerChild:
    """The child, kept alive from `start` to `end`; both are called in the event loop."""

    def __init__(
        self,
        folder: str,
        environ: Mapping[str, str] | None = None,
        command: Sequence[str] = COMMAND,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        self._folder, self._first_pause_s = folder, first_pause_s
        # However this process ends, the child is not to stay for ever.
        self._command = (*command, "--parent", str(os.getpid()))
        self._environ = dict(os.environ if environ is None else environ)
        self._process: subprocess.Popen[bytes] | None = None
        self._could_not_start = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Have somebody work from now on; nothing where there is somebody."""
        if self._task is None:
            self._task = asyncio.create_task(self._keep())

    def complaint(self) -> str:
        """Return why no worker runs; empty if one runs or none is needed."""
        has_ended = self._process is not None and self._process.poll() is not None
        is_given_up = self._task is not None and self._task.done()
        if has_ended or is_given_up or self._could_not_start:
            return "No worker processes ingested texts; they are kept."
        return ""

    async def end(self) -> None:
        """End the child, and wait for it a little."""
        if self._task is None:
            return
        self._task.cancel()
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            await asyncio.to_thread(process.wait, END_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    async def _keep(self) -> None:
        pause_s = self._first_pause_s
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            status = await self._run_once()
            if loop.time() - began >= LONG_S:
                pause_s = self._first_pause_s
            print(  # noqa: T201
                f"memory-fabric: the worker ended ({status}); again in {pause_s:g} s.",
                file=sys.stderr,
            )
            await asyncio.sleep(pause_s)
            pause_s = min(MOST_PAUSE_S, 2 * pause_s)

    async def _run_once(self) -> str:
        """Run a worker and describe how it ended."""
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=self._folder,
                env=self._environ,
            )
        except OSError as error:
            self._could_not_start = True
            return str(error)
        self._could_not_start = False
        with suppress(OSError):  # it works all the same, if not as meekly
            os.setpriority(os.PRIO_PROCESS, self._process.pid, NICE)
        return f"exit code {await asyncio.to_thread(self._process.wait)}"
