"""Faults 13 and 14: `serve` killed while texts come in, and a disk that is full under it."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing

from damage import Damage, Row, Scale, short
from driver import Gone, Ours
from serving import INGEST, Serving

SEED = 13
SENDERS, TEXTS_PER_ROUND = 4, 60
LATEST_KILL_S = 0.6
# Under it a database of a few texts can be read, and nothing can grow.
MOST_BYTES, MAX_TEXTS, ENOUGH_REFUSED = 64, 50, 3
TOLD_OF_FULL_DISK = 503


def serve_killed(folder: str, scale: Scale) -> Iterator[Row]:
    """Rounds in which the server is killed while four send; each text that was answered 202 must be
    known to the next server, and come out of the queue as a turn.
    """
    side, chance = Ours(os.path.join(folder, "ours")), random.Random(SEED)
    told: dict[str, str] = {}
    lost: set[str] = set()
    for number in range(scale.rounds):
        serving = Serving(side)
        moment = threading.Timer(chance.uniform(0.05, LATEST_KILL_S), serving.kill)
        moment.start()
        told |= _sent(serving, f"round {number}")
        moment.join()
        serving.stop()
    serving = Serving(side)
    broken: list[str] = []
    lost |= set(_unknown(serving, list(told), broken))
    serving.stop()
    message = side.command("queue", "work", "--once").stderr
    with closing(sqlite3.connect(side.database)) as database:
        turns = {text for (text,) in database.execute("SELECT text FROM episodes")}
    hidden = {id_ for id_, text in told.items() if text not in turns}
    ours = Damage(len(told), len(lost), len(hidden), short(message, folder), tuple(broken))
    yield Row(13, f"serve killed while texts come in, {scale.rounds} rounds", ours)


def serve_on_full_disk(folder: str, _scale: Scale) -> Iterator[Row]:
    """Files that cannot grow under a running server: a text is refused with 503 and the cause, and
    taken once there is room.
    """
    side = Ours(os.path.join(folder, "ours"))
    serving = Serving(side)
    told: list[str] = []
    broken: list[str] = []
    refused = 0
    said = ""
    try:
        told += _taken(serving, "before")
        serving.limit_files(MOST_BYTES)
        for number in range(MAX_TEXTS):
            answer = serving.ask("POST", INGEST, {"session_summary": f"full {number}"})
            if answer.status == 202:
                told.append(str(answer.value["id"]))
                continue
            said, refused = str(answer.value), refused + 1
            if answer.status != TOLD_OF_FULL_DISK:
                broken.append(f"a full disk was answered {answer.status}")
            if refused >= ENOUGH_REFUSED:
                break
        serving.limit_files(resource.RLIM_INFINITY)
        told += _taken(serving, "after")
    except Gone as error:
        broken.append(f"the server failed: {error}")
    if not refused:
        broken.append("what could not be written was not refused")
    lost = _unknown(serving, told, broken)
    serving.stop()
    ours = Damage(len(told), len(lost), 0, short(said, folder), tuple(broken))
    yield Row(14, "files cannot grow under serve", ours)


def _unknown(serving: Serving, told: Sequence[str], broken: list[str]) -> list[str]:
    """The texts that a server knows nothing of: all of them where it is gone."""
    try:
        return [id_ for id_ in told if serving.ask("GET", f"{INGEST}/{id_}").status != 200]
    except Gone as error:
        broken.append(f"the server failed: {error}")
        return list(told)


def _sent(serving: Serving, mark: str) -> dict[str, str]:
    """Texts by the id with which they were answered 202, until the server has gone."""
    told: dict[str, str] = {}

    def send(sender: int) -> None:
        for number in range(TEXTS_PER_ROUND):
            text = f"{mark}: sender {sender} moved service {number} behind the gateway."
            try:
                answer = serving.ask("POST", INGEST, {"session_summary": text})
            except Gone:
                return
            if answer.status == 202:
                told[str(answer.value["id"])] = text

    senders = [threading.Thread(target=send, args=(number,)) for number in range(SENDERS)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    return told


def _taken(serving: Serving, text: str) -> list[str]:
    answer = serving.ask("POST", INGEST, {"session_summary": text})
    if answer.status != 202:
        raise Gone(f"{text}: answered {answer.status}")
    return [str(answer.value["id"])]
