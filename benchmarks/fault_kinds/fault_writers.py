"""Faults by many writers: processes, parallel calls, hooks beside the server, one file for two."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from damage import Damage, Row, Scale, damage, entity, until, write_many
from driver import PATIENCE_S, ROOT, Ours, Side, Theirs, answer_of
from processes import interpreter

EVENTS = os.path.join(ROOT, "tests", "events")
THINGS = "PostgreSQL Redis Celery FastAPI Docker Kubernetes Kafka Nginx Terraform Grafana".split()
# At least so many rounds of a prompt and a Stop, also where the server is done before.
HOOK_ROUNDS = 5
# Long enough that writing the file takes the other a while.
LONG_TEXT = "pagination " * 1_000
# What it writes beside and renames.
THEIR_COPY = re.compile(r"memory\.jsonl\.[0-9a-f]{32}\.tmp")


def many_processes(folder: str, scale: Scale) -> Iterator[Row]:
    """Servers that write one store at the same time."""
    for count in scale.processes:
        fault = f"{count} processes × {scale.writes} creates"
        sides = _sides(os.path.join(folder, str(count)), scale)
        yield Row(1, fault, *[_crowd(side, count, scale.writes) for side in sides])


def parallel_calls(folder: str, scale: Scale) -> Iterator[Row]:
    """Calls of one client that does not wait for answers."""
    fault = f"{scale.parallel} parallel calls from one client"
    yield Row(2, fault, *[_burst(side, scale.parallel) for side in _sides(folder, scale)])


def hooks_beside(folder: str, scale: Scale) -> Iterator[Row]:
    """Hooks of a session while the server writes; for the reference, a process that writes once."""
    fault = f"hooks beside a server that writes {scale.writes} creates"
    ours = _beside_hooks(Ours(os.path.join(folder, "ours")), scale.writes)
    if not scale.reference:
        yield Row(3, fault, ours)
        return
    yield Row(3, fault, ours, _beside_short_writers(Theirs(os.path.join(folder, "theirs")), scale))


def one_file(folder: str, scale: Scale) -> Iterator[Row]:
    """Servers on one MEMORY_FILE_PATH: two of a kind, then ours beside the reference server."""
    here = os.path.join(folder, "two")
    sides: list[Side] = [Ours(here, os.path.join(here, "memory.jsonl"))]
    if scale.reference:
        sides.append(Theirs(os.path.join(folder, "theirs")))
    fault = f"2 servers on one file × {scale.writes} creates"
    yield Row(12, fault, *[_crowd(side, 2, scale.writes) for side in sides])
    yield _beside_the_reference(os.path.join(folder, "mixed"), scale.writes)
    yield _overwritten(os.path.join(folder, "stale"), scale)


def _sides(folder: str, scale: Scale) -> list[Side]:
    ours: list[Side] = [Ours(os.path.join(folder, "ours"))]
    return [*ours, Theirs(os.path.join(folder, "theirs"))] if scale.reference else ours


def _crowd(side: Side, processes: int, writes: int) -> Damage:
    with ThreadPoolExecutor(processes) as pool:
        servers = list(pool.map(lambda _: side.start(), range(processes)))
        jobs = [pool.submit(write_many, s, f"p{n}", writes) for n, s in enumerate(servers)]
        told = [name for job in jobs for name in job.result()]
        for server in servers:
            server.stop()
    return damage(side, told)


def _burst(side: Side, count: int) -> Damage:
    server = side.start()
    names: dict[int, str] = {}
    told, messages = [], []
    with server.hurried():
        for number in range(count):
            arguments = {"entities": [entity(f"parallel-{number}", "written")]}
            call = {"name": "create_entities", "arguments": arguments}
            request = server.request("tools/call", call)
            names[request["id"]] = f"parallel-{number}"
            server.send(request)
        while names:
            message = server.receive()
            name = names.pop(message.get("id", -1), "")
            if name and answer_of(message).failed:
                messages.append(answer_of(message).text)
            elif name:
                told.append(name)
    server.stop()
    return damage(side, told, message=messages[0] if messages else "")


def _beside_hooks(side: Ours, writes: int) -> Damage:
    server = side.start()
    remembered: list[str] = []
    broken: list[str] = []
    rounds = 0
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write_many, server, "server", writes)
        while rounds < HOOK_ROUNDS or not writing.done():
            for event in (_prompt(side, rounds), _stop(side, rounds)):
                status, said = _ring(side, event)
                remembered += re.findall(r"\(([0-9a-f]{8})\)", said)
                broken += [f"a hook ended with {status}"] if status else []
            rounds += 1
        told = writing.result()
    server.stop()
    found = damage(side, told, broken=broken)
    kept = _record_ids(side)
    lost = sum(id_ not in kept for id_ in remembered)
    if not remembered:
        broken.append("no hook remembered anything")
    return found._replace(
        acknowledged=found.acknowledged + len(remembered),
        lost=found.lost + lost,
        broken=tuple(broken),
    )


def _beside_short_writers(side: Theirs, scale: Scale) -> Damage:
    """Return the damage by short-lived writers, as a hook is one: start, write once, leave."""
    server = side.start()
    told: list[str] = []
    rounds = 0
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write_many, server, "server", scale.writes)
        while rounds < HOOK_ROUNDS or not writing.done():
            hook = side.start()
            told += write_many(hook, f"hook-{rounds}", 1)
            hook.stop()
            rounds += 1
        told += writing.result()
    server.stop()
    return damage(side, told)


def _beside_the_reference(folder: str, writes: int) -> Row:
    """Ours and theirs on one file; each side's loss is of its own writes."""
    shared = _Shared(folder, 100, "is known")
    mine: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write_many, shared.other, "theirs", writes)
        while len(mine) < writes or not writing.done():
            mine += write_many(shared.server, f"ours-{len(mine)}", 1)
        not_mine = writing.result()
    fault = f"ours beside the reference server that writes {writes} creates into one file"
    return shared.row(fault, mine, not_mine)


def _overwritten(folder: str, scale: Scale) -> Row:
    """The other has read the file, ours writes into it, then the other writes what it made of it.

    It is stopped in between, so that this happens in every round.
    """
    shared = _Shared(folder, scale.stale_known, LONG_TEXT)
    mine: list[str] = []
    not_mine: list[str] = []
    for number in range(scale.stale_rounds):
        while not _stopped_before_renaming(shared, f"theirs-{len(not_mine)}"):
            not_mine.append(f"theirs-{len(not_mine)}")
        new = write_many(shared.server, f"ours-{number}", 1)
        until(partial(shared.holds, new))
        shared.other.process.send_signal(signal.SIGCONT)
        answer = answer_of(shared.other.receive())
        not_mine += [] if answer.failed else [f"theirs-{len(not_mine)}"]
        mine += new
    fault = f"a stale copy that the reference server writes over ours, {scale.stale_rounds} times"
    return shared.row(fault, mine, not_mine)


class _Shared:
    """One file, a server of ours on it and one of theirs."""

    def __init__(self, folder: str, known: int, text: str) -> None:
        self.file = os.path.join(folder, "memory.jsonl")
        self.ours = Ours(folder, self.file)
        self.theirs = Theirs(os.path.join(folder, "theirs"), self.file)
        self.before = [f"known-{number}" for number in range(known)]
        with open(self.file, "w", encoding="utf-8") as stream:
            for name in self.before:
                stream.write(json.dumps({"type": "entity", **entity(name, text)}) + "\n")
        self.server, self.other = self.ours.start(), self.theirs.start()
        self.server.graph()

    def names(self) -> set[str]:
        """The entities in the file."""
        with open(self.file, encoding="utf-8") as stream:
            return {json.loads(line)["name"] for line in stream if line.strip()}

    def holds(self, names: Iterable[str]) -> bool:
        """True if all of these entities are in the file."""
        return self.names().issuperset(names)

    def unfinished(self) -> list[str]:
        """Files that the other has begun to write and not yet put in place."""
        found = os.listdir(os.path.dirname(self.file))
        return [name for name in found if THEIR_COPY.fullmatch(name)]

    def row(self, fault: str, mine: Sequence[str], not_mine: Sequence[str]) -> Row:
        """Return the row of a fault: what each side lost of its own, once both have ended."""
        self.other.stop()
        # Whatever the other left in the file, the file of ours follows the next call.
        mine = [*mine, *write_many(self.server, "ours-last", 1)]
        self.server.stop()
        suffered = damage(self.ours, mine, self.before)
        in_file = self.names()
        missing = len(set(mine) - in_file)
        broken = (f"{missing} of ours missing in the file",) if missing else ()
        theirs = Damage(len(not_mine), len(set(not_mine) - in_file))
        return Row(12, fault, suffered._replace(broken=broken), theirs)


def _stopped_before_renaming(shared: _Shared, name: str) -> bool:
    """True if the other is stopped with its new file written and not yet renamed; else it is done.

    It is sent a creation, and stopped as soon as its file is there.
    """
    call = {"name": "create_entities", "arguments": {"entities": [entity(name, "theirs")]}}
    shared.other.send(shared.other.request("tools/call", call))
    until(lambda: bool(shared.unfinished()) or name in shared.names(), pause_s=0)
    shared.other.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, shared.other.process.pid, os.WSTOPPED)
    if shared.unfinished():
        return True
    shared.other.process.send_signal(signal.SIGCONT)
    shared.other.receive()
    return False


def _ring(side: Ours, event: dict[str, Any]) -> tuple[int, str]:
    """The exit status of the event's hook, and what it tells the user."""
    done = subprocess.run(
        [interpreter(), "-I", "-S", os.path.join(ROOT, "hooks", "dispatch.py")],
        input=json.dumps(event).encode(),
        capture_output=True,
        cwd=side.project,
        env=side.environ | {"CLAUDE_PLUGIN_ROOT": ROOT},
        timeout=PATIENCE_S,
        check=False,
    )
    reply = json.loads(done.stdout) if done.stdout else {}
    return done.returncode, str(reply.get("systemMessage", ""))


def _prompt(side: Ours, number: int) -> dict[str, Any]:
    """A recorded prompt, with a decision that no other prompt holds."""
    thing = THINGS[number % len(THINGS)]
    text = f"We decided to use {thing} for module-{number} because it is simpler."
    return _recorded(side, "UserPromptSubmit", prompt=text)


def _stop(side: Ours, number: int) -> dict[str, Any]:
    """A recorded end of a turn."""
    return _recorded(side, "Stop", last_assistant_message=f"I changed module-{number}. All pass.")


def _recorded(side: Ours, name: str, **fields: str) -> dict[str, Any]:
    with open(os.path.join(EVENTS, f"{name}.json"), encoding="utf-8") as stream:
        event: dict[str, Any] = json.load(stream)
    transcript = os.path.join(EVENTS, "transcript.jsonl")
    return event | {"cwd": side.project, "transcript_path": transcript} | fields


def _record_ids(side: Ours) -> set[str]:
    """The short ids of all records, as a notice names them."""
    found: set[str] = set()
    for path in side.databases():
        connection = sqlite3.connect(path)
        found |= {row[0][-8:] for row in connection.execute("SELECT id FROM records")}
        connection.close()
    return found
