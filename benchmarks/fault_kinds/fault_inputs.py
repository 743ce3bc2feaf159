"""Fault 10: what a client may send that is long, deep, strange or no message at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from damage import Damage, Row, Scale, create, entity, filled, known_afterwards, short
from driver import Answer, Gone, Known, Ours, Server, Side, Theirs, answer_of

NAME_CHARS, LEVELS = 100_000, 64
# Answering may take so long on a machine with other work; nothing here may take a minute.
BOUND_S = 30.0
WALK_BOUND_S = 5.0
# Calls that are answered one after the other while an answer is still waited for.
PROBES = 10

Told = tuple[Known, str]
Input = Callable[[Server, Scale], Told]


class Wrong(Exception):
    """A law that the answer broke, in words."""


def hard_inputs(folder: str, scale: Scale) -> Iterator[Row]:
    """Inputs one after the other to one server, which has to live through all of them."""
    ours = _sent(Ours(os.path.join(folder, "ours")), INPUTS, scale)
    theirs: Mapping[str, Damage] = {}
    if scale.reference:
        inputs = {name: send for name, send in INPUTS.items() if name not in ONLY_OURS}
        theirs = _sent(Theirs(os.path.join(folder, "theirs")), inputs, scale)
    for name, suffered in ours.items():
        yield Row(10, name, suffered, theirs.get(name))


class Sent(NamedTuple):
    """The outcome of one input."""

    told: Known
    message: str
    broken: list[str]


def _sent(side: Side, inputs: Mapping[str, Input], scale: Scale) -> dict[str, Damage]:
    before = filled(side, 5)
    sent: dict[str, Sent] = {}
    server = side.start()
    for name, send in inputs.items():
        sent[name] = _one(server, send, scale, f"alive after {name}")
        if server.process.poll() is not None:
            server = side.start()
    server.stop()
    known, _ = known_afterwards(side)
    unreadable = len(set(before) - known.keys())
    return {
        name: Damage(
            acknowledged=len(told),
            lost=sum(known.get(entity_) != texts for entity_, texts in told.items()),
            unreadable=unreadable,
            message=short(message, side.folder),
            broken=tuple(broken),
        )
        for name, (told, message, broken) in sent.items()
    }


def _one(server: Server, send: Input, scale: Scale, alive: str) -> Sent:
    told: Known = {}
    message = ""
    broken: list[str] = []
    began = time.monotonic()
    try:
        told, message = send(server, scale)
        if create(server, alive).failed:
            broken.append("takes nothing afterwards")
        broken += _untrue(server, told)
    except Wrong as error:
        broken.append(str(error))
    except Gone as error:
        broken.append(f"the server ended: {error}")
    took_s = time.monotonic() - began
    if took_s > BOUND_S:
        broken.append(f"took {took_s:.0f} s, at most {BOUND_S:g}")
    return Sent(told, message, broken)


def _untrue(server: Server, told: Known) -> list[str]:
    """The law that an entity comes back as it was told. Raises Gone."""
    for name, texts in told.items():
        found = server.answer("open_nodes", {"names": [name]}).structure.get("entities", [])
        if [item["observations"] for item in found] != [texts]:
            return [f"{name[:20]!r} does not come back as it was told"]
    return []


def _long_observation(server: Server, scale: Scale) -> Told:
    text = ("pagination by cursor " * (scale.long_chars // 21 + 1))[: scale.long_chars]
    return _created(server, "long", text)


def _long_name(server: Server, _scale: Scale) -> Told:
    return _created(server, "n" * NAME_CHARS, "has a long name")


def _nul(server: Server, _scale: Scale) -> Told:
    return _created(server, "nul \0 in a name", "nul \0 in a text")


def _surrogates(server: Server, _scale: Scale) -> Told:
    """Half of a pair, which UTF-8 cannot carry, becomes the replacement character."""
    _created(server, "half \ud83d", "and \ude00 half")
    return {}, ""


def _levels(server: Server, _scale: Scale) -> Told:
    """Too deep where nobody looks, then where a text is due."""
    deep: Any = "deep"
    for _ in range(LEVELS):
        deep = [deep]
    call = {"entities": [entity("nested", "a text")], "more": deep}
    if _done(server.answer("create_entities", call)).failed:
        raise Wrong("refused because of an argument that nobody knows")
    wrong = {"entities": [{**entity("wrong"), "observations": deep}]}
    answer = server.answer("create_entities", wrong)
    if not answer.failed:
        raise Wrong("nested lists were taken for a text")
    return {"nested": ["a text"]}, answer.text


def _no_json(server: Server, scale: Scale) -> Told:
    server.write(b"x" * scale.long_chars)
    return {}, ""


def _empty_line(server: Server, _scale: Scale) -> Told:
    server.write(b"")
    server.write(b"   ")
    return {}, ""


def _long_id(server: Server, _scale: Scale) -> Told:
    return _asked_as(server, "i" * 1_000_000)


def _big_id(server: Server, _scale: Scale) -> Told:
    return _asked_as(server, 2**70)


def _chain(server: Server, scale: Scale) -> Told:
    """A chain whose end leads back to its beginning, with a shorter circle at each link."""
    links = [f"link-{number}" for number in range(scale.chain)]
    items = [entity(name, f"{name} is a link") for name in links]
    _done(server.answer("create_entities", {"entities": items}))
    pairs = [
        (number, (number + step) % len(links)) for number in range(len(links)) for step in (1, -2)
    ]
    relations = [
        {"from": links[source], "to": links[target], "relationType": "leads to"}
        for source, target in pairs
    ]
    _done(server.answer("create_relations", {"relations": relations}))
    return {name: [f"{name} is a link"] for name in (links[0], links[-1])}, ""


def _walk(server: Server, scale: Scale) -> Told:
    """The chain, walked by recall to its greatest depth."""
    told, _ = _chain(server, scale)
    began = time.monotonic()
    asked = {"query": "what does link-0 lead to?", "depth": 3}
    answer = _done(server.answer("recall", asked))
    took_s = time.monotonic() - began
    if took_s > WALK_BOUND_S + scale.slack_s:
        raise Wrong(f"recall took {took_s:.1f} s, at most {WALK_BOUND_S:g}")
    if "Path:" not in answer.text:
        raise Wrong("recall found no path")
    return told, f"recall took {took_s:.2f} s"


INPUTS: Mapping[str, Input] = {
    "an observation of 10 MB": _long_observation,
    "a name of 100,000 characters": _long_name,
    "NUL in name and text": _nul,
    "lone surrogates": _surrogates,
    f"arguments nested {LEVELS} levels": _levels,
    "a line of 10 MB that is no JSON": _no_json,
    "an empty line": _empty_line,
    "a request id of 1 MB": _long_id,
    "a request id beyond 64 bits": _big_id,
    "a chain of 1,000 relations and cycles": _chain,
    "recall to depth 3 in that chain": _walk,
}
ONLY_OURS = frozenset(("recall to depth 3 in that chain",))


def _created(server: Server, name: str, text: str) -> Told:
    answer = _done(create(server, name, text))
    return {name: [text]}, answer.note


def _done(answer: Answer) -> Answer:
    if answer.failed:
        raise Wrong(f"refused: {answer.text}")
    return answer


def _asked_as(server: Server, identifier: str | int) -> Told:
    """A creation under an id of our own, which has to be answered under that id."""
    name = f"asked as {str(identifier)[:20]}"
    call = {"name": "create_entities", "arguments": {"entities": [entity(name, "so")]}}
    with server.hurried():
        server.send({"jsonrpc": "2.0", "id": identifier, "method": "tools/call", "params": call})
        for _ in range(PROBES):
            probe = server.request("tools/call", {"name": "open_nodes", "arguments": {"names": []}})
            server.send(probe)
            while (message := server.receive()).get("id") != probe["id"]:
                if message.get("id") == identifier:
                    _done(answer_of(message))
                    server.receive()  # the probe's
                    return {name: ["so"]}, ""
    raise Wrong("never answered")
