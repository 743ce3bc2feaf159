"""remember, pin: what people state on purpose."""

from __future__ import annotations

import sys
from functools import partial
from typing import Annotated

import typer

from memory_fabric.cli import environment, option_values, show, statement_report
from memory_fabric.cli.option_values import STATED_TYPES
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.models import INSTEAD, SCOPES, Record, lacks_lesson
from memory_fabric.recall.agent_domains import room_for, seen_by_process, stated_name
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, one_line, without_controls

MAX_TEXT_CHARS = 16 << 10
LESSON = "What to do instead?"


def remember(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="What to remember; - reads it from standard input."),
    ] = None,
    success: Annotated[bool, typer.Option("--success", help="It worked: a pattern.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="It failed: an antipattern.")] = False,
    for_all: Annotated[
        bool,
        typer.Option(
            "--global",
            help="Best practice for every project; hosts, paths, people, companies and places are "
            "taken out.",
        ),
    ] = False,
    kind: Annotated[
        str,
        typer.Option(
            "--type",
            metavar="T",
            autocompletion=option_values.record_types,
            help=f"{', '.join(STATED_TYPES[:-1])} or {STATED_TYPES[-1]}; left out, the text tells.",
        ),
    ] = "",
    scope: Annotated[
        str,
        typer.Option(
            metavar="S",
            autocompletion=option_values.scopes,
            help="local, user, team (the default) or global.",
        ),
    ] = "",
    why: Annotated[
        str, typer.Option(metavar="REASON", help="The reason, where the text does not hold it.")
    ] = "",
    instead: Annotated[
        str, typer.Option(metavar="LESSON", help="With `--failed`: what to do instead.")
    ] = "",
    category: Annotated[
        str, typer.Option(metavar="WORD", help="A word to sort it by, e.g. database.")
    ] = "",
    agent: Annotated[
        str, typer.Option(metavar="NAME", help="The agent that this is about or from.")
    ] = "",
    domain: Annotated[
        str,
        typer.Option(
            "--domain",
            "--expert-domain",
            metavar="NAME",
            help="The room inside the project; left out, that of the agent, else of this folder.",
        ),
    ] = "",
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="The stored record as JSON, with `repeated`, `new_entities`, `known_entities`, "
            "`observations`, `tiers`, `replaces`, `opposite`, `left_out_chars`, `failures`, and "
            "`asks` (`lesson`) where one is missing.",
        ),
    ] = False,
) -> int:
    """Remember a decision, a rule, what worked or failed.

    It confirms type and id, which entities are new and which were known, relations, how many
    observations it says in the graph, where it lies, and what it took the place of. The same words
    again make the known memory stronger, and complete it with a reason or a lesson that it lacks;
    the same words with the other outcome are another memory.

    It lies in the domain that is stated, else in that of `--agent` or of this folder by
    config.toml, else in that of the agent's name, else in `general` (docs/domains.md). In a process
    that MEMORY_FABRIC_DOMAIN puts into an isolated domain it lies there, whatever is stated.

    What is on record to the contrary is told, not closed, at most three of them: "earlier,
    2026-01-03: failed: Offset pagination caused timeouts at 1M rows (1a2b3c4d)".

    What failed without a reason or a lesson: a terminal asks what to do instead before anything is
    stored (Return stores it without); elsewhere it is stored, and the last line says how to add the
    lesson. A text beyond 16,384 characters is cut at a word, with a notice of how much was left
    out. An empty text, one that only holds a secret, two outcomes at once, and with `--global` a
    word that may name a person, company or place are refused with exit code 2.

        memory-fabric remember "Use cursor-based pagination for all list endpoints"
        memory-fabric remember --failed --instead "use cursors" "Offsets time out at 1M rows"
        git log -1 --format=%B | memory-fabric remember -
    """
    _refuse_both(success, failed, kind, instead)
    text, left_out = _within(_text(words), "text")
    reason, _ = _within(one_line(why), "reason")
    stated = Record(
        type=_type(kind, success, failed),
        what=text,
        why=_with_lesson(reason, instead),
        outcome="success" if success else "failed" if failed else "neutral",
        category=category,
        scope=_scope(scope, for_all),
    )
    with environment.open_memory() as whole:
        room = room_for(whole.settings, agent)
        memory = seen_by_process(whole)
        stated = stated._replace(domain=_domain(domain) or room.domain)
        if stated.scope == "local" and not memory.settings.session:
            raise BadInput(
                "--scope",
                "Scope local is for one session, and this shell is in none.",
                remedy="Use it inside Claude Code, or leave it out.",
            )
        complete = _completed(memory, stated)
        if failed and lacks_lesson(complete) and not as_json and _is_terminal():
            stated = stated._replace(why=_with_lesson("", _asked(LESSON)))
            complete = _completed(memory, stated)
        told = _stored(memory, complete, agent)
    told = told._replace(left_out=left_out, lacks_lesson=failed and lacks_lesson(told.record))
    if as_json:
        show.json_out(statement_report.as_json(told))
    else:
        statement_report.show_confirmation(told)
    return 0


def _text(given: list[str] | None) -> str:
    text = " ".join(given or ())
    if text.strip() == "-":
        text = sys.stdin.buffer.read(8 << 20).decode("utf-8", "replace")
    from memory_fabric.redaction.redact import says_only_secrets  # --help needs none of it

    text = one_line(without_controls(text))
    if not _says_something(text):
        raise BadInput(
            "text",
            "There is nothing to remember.",
            remedy='Say what: remember "We chose X because Y".',
        )
    if says_only_secrets(text):
        raise BadInput(
            "text",
            "There is nothing but a secret in it, and secrets are not stored.",
            remedy="Say where it is kept, not what it is.",
        )
    return text


def _says_something(text: str) -> bool:
    """Whether there is a letter or a digit: what has none is like any other, and not found."""
    return any(map(str.isalnum, text))


def _within(text: str, name: str) -> tuple[str, int]:
    """The text as long as it may be, and how many characters were left out, with a notice."""
    kept = cut(text, MAX_TEXT_CHARS)
    left_out = len(text) - len(kept.removesuffix("…")) if kept != text else 0
    if left_out:
        show.complain(
            f"the {name} of {len(text)} characters is cut at a word: {left_out} are left out, "
            f"{MAX_TEXT_CHARS} are the most."
        )
    return kept, left_out


def _with_lesson(why: str, instead: str) -> str:
    """The reason, with what to do instead behind it."""
    lesson, _ = _within(one_line(instead), "lesson")
    return "; ".join(part for part in (why, f"{INSTEAD}{lesson}" if lesson else "") if part)


def _asked(question: str) -> str:
    """What the person answers; empty for nothing."""
    answer: str = typer.prompt(question, default="", show_default=False, prompt_suffix=" ")
    return answer


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _refuse_both(success: bool, failed: bool, kind: str, instead: str) -> None:
    """Raise BadInput where two flags say opposite things."""
    if success and failed:
        raise BadInput(
            "--success",
            "Both --success and --failed: did it work, or did it fail?",
            remedy="Say one of them; two outcomes are two memories.",
        )
    if (success and kind == "antipattern") or (failed and kind == "pattern"):
        outcome = "--success" if success else "--failed"
        raise BadInput(
            "--type",
            f"Both {outcome} and --type {kind}: did it work, or did it fail?",
            remedy="Leave out one of them.",
        )
    if instead and not failed:
        raise BadInput(
            "--instead",
            "--instead says what to do in the place of what failed.",
            remedy="Say --failed, or give the reason with --why.",
        )


def _type(kind: str, success: bool, failed: bool) -> str:
    """The stated type; empty where the text shall tell."""
    if kind and kind not in STATED_TYPES:
        raise BadInput(
            "--type",
            f"There is no type {kind!r}.",
            remedy=f"Use {', '.join(STATED_TYPES)}.",
        )
    return kind or ("pattern" if success else "antipattern" if failed else "")


def _domain(stated: str) -> str:
    """The stated domain in the one spelling that is kept; empty for none."""
    name = stated_name(stated)
    if stated and not name:
        raise BadInput(
            "--domain",
            f"{stated!r} is no domain.",
            remedy="A name has letters or digits, as in legal_advisor.",
        )
    return name


def _scope(scope: str, for_all: bool) -> str:
    if scope and scope not in SCOPES:
        raise BadInput(
            "--scope", f"There is no scope {scope!r}.", remedy=f"Use {', '.join(SCOPES)}."
        )
    if for_all and scope not in ("", "global"):
        raise BadInput("--global", f"Both --global and --scope {scope}.", remedy="Use one of them.")
    return "global" if for_all else scope or "team"


def _stored(memory: Memory, complete: Record, agent: str) -> statement_report.Confirmation:
    """What became of the record, in all tiers."""
    from memory_fabric.capture.remember import state  # the fabric is not needed to refuse a text

    provenance = environment.said_here()._replace(agent=agent, domain=complete.domain)
    stored, is_new = state(memory, complete, provenance)
    if stored is None:
        raise StoreUnavailable(
            "", "It was accepted but cannot be found again.", remedy="Run memory-fabric doctor."
        )
    memory.flush()
    return statement_report.confirmation(memory, stored, repeated=not is_new)


def _completed(memory: Memory, stated: Record) -> Record:
    """The record with what its own text tells: type, reason, alternatives, entities, relations."""
    from memory_fabric.capture.capture import capture
    from memory_fabric.capture.confidence import confidence
    from memory_fabric.capture.extract import extract
    from memory_fabric.capture.global_scope import is_generalizable
    from memory_fabric.capture.known_names import KnownNames
    from memory_fabric.capture.unreadable import Unread
    from memory_fabric.redaction.redact import redact

    # Before names are read out of it: one alone would not look like a secret.
    stated = stated._replace(what=redact(stated.what), why=redact(stated.why))
    text = f"{stated.what}. {stated.why}"
    known, unread = KnownNames(memory, text), Unread()
    told = next(iter(capture(stated.what, speaker="user", known=known, unread=unread)), None)
    plain = Record(type="note", what=stated.what)
    told = told or unread.attempt(plain, _plainly_told, stated.what)
    entities, relations = unread.attempt(((), ()), partial(extract, text, known=known))
    unread.tell(memory)
    if stated.why:  # it brings names of its own beside those of the sentence
        names = {entity.name for entity in told.entities}
        entities = (*told.entities, *(e for e in entities if e.name not in names))
        relations = tuple(dict.fromkeys((*told.relations, *relations)))
    else:
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
    from memory_fabric.capture.clauses import parts_at

    parts = parts_at(text, 0, min(len(text), 8), whole=True)
    return Record(type="note", what=text, why=parts.why, alternatives=parts.over)
