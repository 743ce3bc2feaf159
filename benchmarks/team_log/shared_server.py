"""`serve --team` over a large space: recalls a second, and how long each takes."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from driver import PLUGIN
from processes import quantile
from team.postgres import OWNER
from team_log.cluster import SPACE, Server
from team_log.processor import family_cpu_seconds, server_cpu_seconds
from team_log.speed import load
from team_log.statements import AUTHORS, Words

WARM_UP_S = 5.0
RECALL = "/v1/memory/recall?q="
# So many that none is asked twice; and those that are asked again and again.
QUESTIONS, REPEATED = 20_000, 40
# Kinds of questions.
OWN, COMMON = "about a component by its name", "in common words only"
AGAIN = "the same forty about components"
WORDS_INDEX = "CREATE INDEX heads_by_words ON memory_fabric.heads USING gin (words)"


class Load(NamedTuple):
    """Recalls by clients that ask again as soon as they are answered. `empty` found nothing.

    `cpu_ms` and `database_ms` are processor time of one recall, in our processes and PostgreSQL's.
    """

    workers: int
    asked: str
    clients: int
    per_s: float
    p50_ms: float
    p95_ms: float
    cpu_ms: float
    database_ms: float
    empty: int
    failed: int


class Serving(NamedTuple):
    """A running server."""

    pid: int
    port: int


def fill(server: Server, count: int) -> float:
    """Load so many operations, and index them; return the seconds."""
    began = time.perf_counter()
    with closing(server.superuser()) as connection:
        # One index of all words is built much sooner than one that grows.
        connection.execute("DROP INDEX memory_fabric.heads_by_words")
        load(server, count, seed=3)
        connection.execute("SET maintenance_work_mem = '512MB'")
        connection.execute(WORDS_INDEX)
        connection.execute("VACUUM ANALYZE memory_fabric.heads")
        connection.execute("VACUUM ANALYZE memory_fabric.names")
    return time.perf_counter() - began


def measured(
    folder: str, server: Server, clients: Sequence[int], seconds: float
) -> Generator[Load, None, None]:
    """Yield the figures with one and two processes, for so many clients at once."""
    words = Words(4)
    asked = {
        kind: [words.question(of_own_name=kind == OWN) for _ in range(QUESTIONS)]
        for kind in (OWN, COMMON)
    }
    asked[AGAIN] = asked[OWN][-REPEATED:]
    environ = _environment(folder)
    key = _cli(environ, server, "--new-key", "benchmark", "--member", AUTHORS[0]).split()[0]
    for workers in (1, 2):
        with _serving(environ, server, workers) as serving:
            _ask(serving, server, key, asked[OWN], 2, WARM_UP_S)
            for kind, questions in asked.items():
                for count in clients:
                    found = _ask(serving, server, key, questions, count, seconds)
                    yield found._replace(workers=workers, asked=kind)


def _ask(
    serving: Serving,
    server: Server,
    key: str,
    questions: Sequence[str],
    clients: int,
    seconds: float,
) -> Load:
    spent: list[float] = []
    counts = {"empty": 0, "failed": 0}
    until = time.perf_counter() + seconds

    def run(number: int) -> None:
        with closing(
            http.client.HTTPConnection("127.0.0.1", serving.port, timeout=60)
        ) as connection:
            place = number * len(questions) // clients
            while True:
                place += 1
                question = questions[place % len(questions)]
                began = time.perf_counter()
                status, hits = _recall(connection, key, question)
                spent.append(time.perf_counter() - began)
                counts["failed"] += status != http.HTTPStatus.OK
                counts["empty"] += not hits
                if time.perf_counter() > until:  # Not before one question is answered.
                    break

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    began, before = time.perf_counter(), _cpu_ms(serving, server)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    ours, database = (
        (late - early) / len(spent)
        for early, late in zip(before, _cpu_ms(serving, server), strict=True)
    )
    return Load(
        0,
        "",
        clients,
        len(spent) / took,
        quantile(spent, 0.5) * 1000,
        quantile(spent, 0.95) * 1000,
        ours,
        database,
        counts["empty"],
        counts["failed"],
    )


def _cpu_ms(serving: Serving, server: Server) -> tuple[float, float]:
    ours, database = family_cpu_seconds(serving.pid), server_cpu_seconds(server)
    return ours * 1000, database * 1000


def _recall(connection: http.client.HTTPConnection, key: str, question: str) -> tuple[int, int]:
    headers = {"Authorization": f"Bearer {key}"}
    connection.request("GET", RECALL + quote(question), headers=headers)
    answer = connection.getresponse()
    body: dict[str, Any] = json.loads(answer.read())
    return answer.status, len(body.get("results", ()))


def _environment(folder: str) -> dict[str, str]:
    home = os.path.join(folder, "serving")
    os.makedirs(home)
    return {
        "HOME": home,
        "PATH": os.environ["PATH"],
        "PYTHONPATH": PLUGIN,
        "MEMORY_FABRIC_HOME": os.path.join(home, "memory-fabric"),
    }


def _command(server: Server, *words: str) -> list[str]:
    words = ("serve", "--team", server.dsn(OWNER), "--space", SPACE, *words)
    return [sys.executable, "-m", "memory_fabric.cli", *words]


def _cli(environ: dict[str, str], server: Server, *words: str) -> str:
    return subprocess.run(
        _command(server, *words),
        env=environ,
        cwd=environ["HOME"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


@contextmanager
def _serving(environ: dict[str, str], server: Server, workers: int) -> Iterator[Serving]:
    with subprocess.Popen(
        _command(server, "--port", "0", "--workers", str(workers)),
        env=environ,
        cwd=environ["HOME"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield Serving(process.pid, urlsplit(line.rpartition(" ")[2].strip()).port or 0)
        finally:
            process.terminate()
