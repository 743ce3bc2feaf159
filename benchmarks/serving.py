"""`memory-fabric serve` as a process over loopback: single requests, timed questions, texts."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from driver import Gone, Ours
from processes import quantile

LOAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wrk.lua")
INGEST, RECALL = "/v1/memory/ingest", "/v1/memory/recall"
START_S, STOP_S, ANSWER_S = 30.0, 20.0, 30.0


class Load(NamedTuple):
    """The outcome of a load: answers 200 and 202, other answers, broken connections, latencies."""

    seconds: float
    fine: int
    refused: int
    broken: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float

    @property
    def rate(self) -> float:
        """Good answers a second."""
        return self.fine / self.seconds


class Shape(NamedTuple):
    """Clients that ask so many questions a second together: evenly, or each time all at once."""

    clients: int
    rate: float
    together: bool = False

    def at_s(self, number: int) -> float:
        """Return when a question is due, in seconds from the beginning."""
        number -= number % self.clients if self.together else 0
        return number / self.rate


class Asked(NamedTuple):
    """The outcome of questions: answers a second, other answers, those without hits, latencies.

    `cpu_ms` is the processor time of all processes of the server for one question.
    """

    rate: float
    refused: int
    empty: int
    p50_ms: float
    p95_ms: float
    max_ms: float
    cpu_ms: float


class Said(NamedTuple):
    """An answer: its status, and the object in its body."""

    status: int
    value: Mapping[str, Any]


class Serving:
    """`memory-fabric serve` as a process over the memory of a place."""

    def __init__(self, side: Ours, *words: str, prepare: Callable[[], None] | None = None) -> None:
        self.side = side
        command = [sys.executable, "-m", "memory_fabric.cli", "serve", "--port", "0", *words]
        with open(side.said, "ab") as errors:
            self.process = subprocess.Popen(
                command,
                cwd=side.project,
                env=side.environ,
                stdout=subprocess.PIPE,
                stderr=errors,
                preexec_fn=prepare,
            )
        self.address, self.key = self._printed()

    def ask(self, method: str, path: str, value: Mapping[str, Any] | None = None) -> Said:
        """The answer to one request on a connection of its own. Raises Gone."""
        at = urlsplit(self.address)
        connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=ANSWER_S)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        body = None if value is None else json.dumps(value)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Said(answer.status, json.loads(answer.read() or b"{}"))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Gone(str(error)) from error
        finally:
            connection.close()

    def asked(self, questions: Sequence[str], shape: Shape) -> Asked:
        """Ask each question at its time, over one connection for each client."""
        latencies: list[float] = []
        counts = {"refused": 0, "empty": 0}
        at = urlsplit(self.address)
        headers = {"Authorization": f"Bearer {self.key}"}
        began, cpu_s = time.perf_counter() + 0.05, self.cpu_s()

        def run(client: int) -> None:
            connection = http.client.HTTPConnection(at.hostname or "", at.port, timeout=ANSWER_S)
            for number in range(client, len(questions), shape.clients):
                due = began + shape.at_s(number)
                time.sleep(max(0.0, due - time.perf_counter()))
                asked = urlencode({"q": questions[number], "limit": 10})
                connection.request("GET", f"{RECALL}?{asked}", headers=headers)
                answer = connection.getresponse()
                body = answer.read()
                latencies.append(time.perf_counter() - due)
                counts["refused"] += answer.status != http.HTTPStatus.OK
                counts["empty"] += b'"total_results": 0' in body or b'"total_results":0' in body
            connection.close()

        threads = [threading.Thread(target=run, args=(one,)) for one in range(shape.clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took = time.perf_counter() - began
        if len(latencies) < len(questions):
            raise SystemExit(f"{len(questions) - len(latencies)} questions had no answer")
        return Asked(
            rate=(len(latencies) - counts["refused"]) / took,
            refused=counts["refused"],
            empty=counts["empty"],
            p50_ms=1000 * quantile(latencies, 0.5),
            p95_ms=1000 * quantile(latencies, 0.95),
            max_ms=1000 * max(latencies),
            cpu_ms=1000 * (self.cpu_s() - cpu_s) / len(latencies),
        )

    def load(self, shape: tuple[int, int], seconds: float, mark: str) -> Load:
        """Send texts over so many connections for so long, and return the outcome."""
        connections, wait_ms = shape
        wrk = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:g}s", "--timeout", "10s", "-s", LOAD]
        told = [str(connections), str(wait_ms), mark]
        found = subprocess.run(
            [*wrk, self.address, "--", *told],
            capture_output=True,
            text=True,
            check=False,
        )
        result = re.search(r"^RESULT (.*)$", found.stdout, re.MULTILINE)
        if result is None:
            raise SystemExit(f"wrk failed: {found.stdout[-500:]}{found.stderr[-500:]}")
        return Load(**json.loads(result.group(1)))

    def cpu_s(self) -> float:
        """The processor time of the server and its processes until now, in seconds."""
        return sum(map(_cpu_s, (self.process.pid, *_children(self.process.pid))))

    def memory_mb(self) -> float:
        """The resident memory of the server now, in MB."""
        return _resident_mb(self.process.pid)

    def worker_memory_mb(self) -> float:
        """The resident memory of the process that processes ingested texts, in MB."""
        return sum(map(_resident_mb, _children(self.process.pid)))

    def kill(self) -> None:
        """End it at once, as `kill -9` does."""
        self.process.kill()
        self.process.wait()

    def limit_files(self, most_bytes: int) -> None:
        """Let no file of its grow above this from now on, as on a disk that is full."""
        _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (most_bytes, hard))

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(STOP_S)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()

    def _printed(self) -> tuple[str, str]:
        """Its address and its key, from the line in which it says them."""
        assert self.process.stdout is not None
        give_up = time.monotonic() + START_S
        while time.monotonic() < give_up:
            line = self.process.stdout.readline().decode()
            said = re.search(r"(http://\S+)/\?key=(\S+)", line)
            if said:
                return said.group(1), said.group(2)
            if not line:
                break
        raise SystemExit(f"serve did not start; see {self.side.said}")


def _children(process: int) -> list[int]:
    with open(f"/proc/{process}/task/{process}/children") as file:
        return list(map(int, file.read().split()))


def _cpu_s(process: int) -> float:
    with open(f"/proc/{process}/stat") as file:
        times = file.read().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def _resident_mb(process: int) -> float:
    with open(f"/proc/{process}/status", encoding="utf-8") as file:
        said = dict(line.split(":", 1) for line in file)
    return int(said["VmRSS"].split()[0]) / 1024
