"""remember, pin: what people state on purpose."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from memory_fabric.cli import here, named, show, values
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.ids import short_id
from memory_fabric.models import OTHERS, RECORD_TYPES, SCOPES, Record
from memory_fabric.store import notices, records
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, one_line

MAX_TEXT_CHARS = 16 << 10
# `session` records are summaries that hooks write; nobody states one by hand.
STATED_TYPES = sorted(RECORD_TYPES - {"session"})
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


def remember(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="What to remember; - reads it from standard input."),
    ] = None,
    success: Annotated[bool, typer.Option("--success", help="It worked: a pattern.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="It failed: an antipattern.")] = False,
    for_all: Annotated[
        bool, typer.Option("--global", help="Best practice for every project; names are removed.")
    ] = False,
    kind: Annotated[
        str,
        typer.Option("--type", help=", ".join(STATED_TYPES), autocompletion=values.record_types),
    ] = "",
    scope: Annotated[
        str,
        typer.Option(
            help="local, user, team (the default) or global", autocompletion=values.scopes
        ),
    ] = "",
    why: Annotated[str, typer.Option(help="The reason.")] = "",
    category: Annotated[str, typer.Option(help="A word to sort it by, e.g. database.")] = "",
    agent: Annotated[str, typer.Option(help="The agent that this is about or from.")] = "",
    domain: Annotated[str, typer.Option(help="A namespace inside the project.")] = "",
    as_json: AsJson = False,
) -> int:
    """Remember a decision, a rule, what worked or failed."""
    stated = Record(
        type=_type(kind, success, failed),
        what=_text(words),
        why=one_line(why),
        outcome="success" if success else "failed" if failed else "neutral",
        category=category,
        scope=_scope(scope, for_all),
        domain=domain or "general",
    )
    with here.open_memory() as memory:
        if stated.scope == "local" and not memory.settings.session:
            raise BadInput(
                "--scope",
                "Scope local is for one session, and this shell is in none.",
                remedy="Use it inside Claude Code, or leave it out.",
            )
        stored, repeated = _stored(memory, stated, agent)
        memory.flush()
        tiers = named.tiers_holding(memory, stored.id)
        if as_json:
            told = {"repeated": repeated, "tiers": tiers, "failures": memory.failures}
            told["replaces"] = [record.id for record in _replaced_by(memory, stored)]
            show.json_out(named.as_json(stored) | told)
        else:
            _confirm(memory, stored, repeated, tiers)
    return 0


def pin(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="The id that recall shows.")],
    off: Annotated[bool, typer.Option("--off", help="Take the pin out again.")] = False,
    as_json: AsJson = False,
) -> int:
    """Give a memory to every session at its start."""
    with here.open_memory() as memory:
        record, seen, kind = named.record_by_id(memory, identifier)
        if record.pinned == off:
            pinned = record._replace(pinned=not off)
            payload = {"record": records.as_object(pinned), "seen_in": seen}
            memory.write("put_record", payload, here.said_here(), store=kind)
            notices.withdraw(memory.settings.home, record.id)
            memory.flush()
        if as_json:
            show.json_out(named.as_json(record._replace(pinned=not off)))
        else:
            done = "Not pinned" if off else "Pinned"
            show.line(f"{done}: {record.type} {short_id(record.id)}, {one_line(record.what)}")
    return 0


def _text(given: list[str] | None) -> str:
    text = " ".join(given or ())
    if text.strip() == "-":
        text = sys.stdin.buffer.read(8 << 20).decode("utf-8", "replace")
    text = one_line(text)
    if not text:
        raise BadInput(
            "text",
            "There is nothing to remember.",
            remedy='Say what: remember "We chose X because Y".',
        )
    if len(text) > MAX_TEXT_CHARS:
        show.complain(f"the text is cut after {MAX_TEXT_CHARS} characters.")
    return cut(text, MAX_TEXT_CHARS)


def _type(kind: str, success: bool, failed: bool) -> str:
    """The stated type; empty where the text shall tell."""
    if success and failed:
        raise BadInput(
            "--success",
            "Both --success and --failed: it cannot have done both.",
            remedy="Remember the two as two.",
        )
    if kind and kind not in STATED_TYPES:
        raise BadInput(
            "--type",
            f"There is no type {kind!r}.",
            remedy=f"Use {', '.join(STATED_TYPES)}.",
        )
    return kind or ("pattern" if success else "antipattern" if failed else "")


def _scope(scope: str, for_all: bool) -> str:
    if scope and scope not in SCOPES:
        raise BadInput(
            "--scope", f"There is no scope {scope!r}.", remedy=f"Use {', '.join(SCOPES)}."
        )
    if for_all and scope not in ("", "global"):
        raise BadInput("--global", f"Both --global and --scope {scope}.", remedy="Use one of them.")
    return "global" if for_all else scope or "team"


def _stored(memory: Memory, stated: Record, agent: str) -> tuple[Record, bool]:
    """The record as it is in memory now, and whether it was known before."""
    from memory_fabric.fabric.remember import store  # the fabric is not needed to refuse a text

    complete = _completed(memory, stated)
    provenance = here.said_here()._replace(agent=agent, domain=stated.domain)
    new = store(memory, [complete], provenance)
    if new:
        return new[0], False
    known = memory.find_records(
        "key = ? AND source <> ?", (records.key_of(complete), OTHERS), limit=1
    )
    if not known:
        raise StoreUnavailable(
            "", "It was accepted but cannot be found again.", remedy="Run memory-fabric doctor."
        )
    return known[0], True


def _completed(memory: Memory, stated: Record) -> Record:
    """The record with what its own text tells: type, reason, alternatives, entities, relations."""
    from memory_fabric.fabric.capture import capture
    from memory_fabric.fabric.confidence import confidence
    from memory_fabric.fabric.extract import extract
    from memory_fabric.fabric.generalizing import is_generalizable
    from memory_fabric.fabric.known_names import KnownNames
    from memory_fabric.redact import redact

    # Before names are read out of it: one alone would not look like a secret.
    stated = stated._replace(what=redact(stated.what), why=redact(stated.why))
    text = f"{stated.what} {stated.why}"
    known = KnownNames(memory, text)
    told = next(iter(capture(stated.what, speaker="user", known=known)), None)
    told = told or _plainly_told(stated.what)
    entities, relations = extract(text, known=known)
    entities, relations = told.entities or entities, told.relations or relations
    why = stated.why or told.why
    sure = confidence(
        explicit=True, reason=bool(why), alternative=bool(told.alternatives), by_user=True
    )
    sure = max(told.confidence, sure)
    return stated._replace(
        type=stated.type or told.type,
        why=why,
        alternatives=told.alternatives,
        category=stated.category or told.category,
        entities=entities,
        relations=relations,
        confidence=sure,
        generalizable=is_generalizable(sure, why, entities),
    )


def _plainly_told(text: str) -> Record:
    """A note, with the reason and the rejected alternatives that its own sentence names."""
    from memory_fabric.fabric.clauses import parts_at

    parts = parts_at(text, 0, min(len(text), 8), whole=True)
    return Record(type="note", what=text, why=parts.why, alternatives=parts.over)


def _replaced_by(memory: Memory, stored: Record) -> list[Record]:
    return memory.find_records("superseded_by = ?", (stored.id,))


def _confirm(memory: Memory, stored: Record, repeated: bool, tiers: list[str]) -> None:
    head = "Known already, now stronger" if repeated else "Remembered"
    replaced = _replaced_by(memory, stored)
    show.line(f"{head}: {stored.type} {short_id(stored.id)}", style="bold")
    show.facts(
        (
            ("what", stored.what),
            ("why", stored.why),
            ("entities", ", ".join(f"{e.name} ({e.type})" for e in stored.entities)),
            ("relations", "; ".join(f"{r.source} {r.type} {r.target}" for r in stored.relations)),
            ("scope", f"{stored.scope}, confidence {stored.confidence:.2f}"),
            ("in place of", "; ".join(f"{r.what} ({short_id(r.id)})" for r in replaced)),
            ("lies in", ", ".join(tiers)),
        )
    )
    for failure in memory.failures:
        show.complain(failure)
