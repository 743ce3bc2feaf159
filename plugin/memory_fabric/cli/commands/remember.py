"""remember: store a statement of the user."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from memory_fabric.cli import environment, option_values, show, statement_report
from memory_fabric.errors import BadInput, StoreUnavailable
from memory_fabric.ids import short_id
from memory_fabric.models import (
    ALSO,
    INSTEAD,
    SCOPES,
    STATED_TYPES,
    TYPE_ALIASES,
    WHEN,
    Record,
    lacks_lesson,
    record_type,
)
from memory_fabric.recall.agent_domains import domain_for, stated_name, visible_to_process
from memory_fabric.store.history.resolve import record_by_id
from memory_fabric.store.memory import Memory
from memory_fabric.text import cut, one_line, without_controls

MAX_TEXT_CHARS = 16 << 10
LESSON = "What to do instead?"


def remember(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT", help="The text to remember; - reads it from standard input."
        ),
    ] = None,
    success: Annotated[bool, typer.Option("--success", help="It worked: a pattern.")] = False,
    failed: Annotated[bool, typer.Option("--failed", help="It failed: an antipattern.")] = False,
    for_all: Annotated[
        bool,
        typer.Option(
            "--global",
            help="A best practice for every project; names of hosts, paths, people, companies and "
            "locations are removed.",
        ),
    ] = False,
    kind: Annotated[
        str,
        typer.Option(
            "--type",
            metavar="T",
            autocompletion=option_values.record_types,
            help=f"{', '.join(STATED_TYPES[:-1])} or {STATED_TYPES[-1]}; also rule, fact, fix and "
            "open; by default inferred from the text.",
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
        str, typer.Option(metavar="REASON", help="The reason, if the text does not contain it.")
    ] = "",
    instead: Annotated[
        str, typer.Option(metavar="LESSON", help="With `--failed`: what to do instead.")
    ] = "",
    instead_of: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="The memory that this one replaces; can be repeated."),
    ] = None,
    when: Annotated[
        str,
        typer.Option(
            metavar="W", help="The command, path or activity in which it applies, e.g. `npm test`."
        ),
    ] = "",
    also: Annotated[
        str, typer.Option(metavar="WORDS", help="Other words by which it should be found.")
    ] = "",
    category: Annotated[
        str, typer.Option(metavar="WORD", help="A word to sort it by, e.g. database.")
    ] = "",
    agent: Annotated[
        str, typer.Option(metavar="NAME", help="The agent that said it or that it is about.")
    ] = "",
    domain: Annotated[
        str,
        typer.Option(
            "--domain",
            "--expert-domain",
            metavar="NAME",
            help="The domain inside the project; by default that of the agent or of this folder.",
        ),
    ] = "",
    step: environment.Step = "",
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Answer in JSON: the stored record, with `repeated`, `new_entities`, "
            "`known_entities`, "
            "`observations`, `tiers`, `replaces`, `opposite`, `left_out_chars`, `failures`, and "
            "`asks` (`lesson`) if one is missing.",
        ),
    ] = False,
) -> int:
    """Remember a decision, a rule, what worked or failed.

    Shows the type and id, the new and known entities, the relations, the number of observations
    in the graph, the tiers that hold it, and the memories that it replaces, which are those of
    `--instead-of` and no others. The same words again strengthen the known memory, and add a
    reason or lesson that it lacks; the same words with the opposite outcome are another memory.

    Its domain is `--domain`, else that of `--agent` or this folder in config.toml, else that of
    the agent's name, else `general` (docs/domains.md). If MEMORY_FABRIC_DOMAIN names an isolated
    domain, it is that one in any case.

    Up to three memories that contradict it are shown, and not changed: "earlier, 2026-01-03:
    failed: Offset pagination caused timeouts at 1M rows (1a2b3c4d)"; for one that states another
    choice, also the command that replaces it.

    For a failure without a reason or lesson, a terminal first asks what to do instead (Return
    stores it without); outside a terminal it is stored, and the last line shows how to add the
    lesson. A text of more than 16,384 characters is cut at a word, with a notice of how many were
    cut. Exit code 2 for an empty text, for one that is only a secret, for two outcomes at once,
    and with `--global` for a word that may name a person, company or location.

        memory-fabric remember "Use cursor-based pagination for all list endpoints"
        memory-fabric remember --failed --instead "use cursors" "Offsets time out at 1M rows"
        memory-fabric remember "Use pnpm instead of npm" --instead-of 1a2b3c4d
        git log -1 --format=%B | memory-fabric remember -
    """
    _check_outcome(success, failed, kind, instead)
    text, left_out = _cut(_text(words), "text")
    reason, _ = _cut(one_line(why), "reason")
    stated = Record(
        type=_type(kind, success, failed),
        what=text,
        why=_with_lesson(reason, instead),
        outcome="success" if success else "failed" if failed else "neutral",
        category=category,
        scope=_scope(scope, for_all),
        evidence=_evidence(when, also),
    )
    with environment.open_memory(step=step) as whole:
        own = domain_for(whole.settings, agent)
        memory = visible_to_process(whole)
        memory.batch = step
        stated = stated._replace(domain=_domain(domain) or own.name)
        if stated.scope == "local" and not memory.settings.session:
            raise BadInput(
                "--scope",
                "Scope local is for one session, and this shell is not part of one.",
                remedy="Use it inside Claude Code, or use another scope.",
            )
        replaced = _replaced(memory, instead_of or (), stated)
        complete = _completed(memory, stated)
        if failed and lacks_lesson(complete) and not as_json and _is_terminal():
            stated = stated._replace(why=_with_lesson("", _ask(LESSON)))
            complete = _completed(memory, stated)
        told = _store(memory, complete, agent, replaced)
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
    from memory_fabric.redaction.redact import says_only_secrets  # not needed for --help

    text = one_line(without_controls(text))
    if not _has_word(text):
        raise BadInput(
            "text",
            "The text is empty.",
            remedy='Give a text: remember "We chose X because Y".',
        )
    if says_only_secrets(text):
        raise BadInput(
            "text",
            "The text is only a secret, and secrets are not stored.",
            remedy="State where the secret is kept instead.",
        )
    return text


def _has_word(text: str) -> bool:
    """Return True if the text has a letter or digit; without any it could not be found."""
    return any(map(str.isalnum, text))


def _cut(text: str, name: str) -> tuple[str, int]:
    """Cut the text to MAX_TEXT_CHARS with a warning; also return the number of cut characters."""
    kept = cut(text, MAX_TEXT_CHARS)
    left_out = len(text) - len(kept.removesuffix("…")) if kept != text else 0
    if left_out:
        show.warn(
            f"the {name} has {len(text)} characters and was cut at a word: {left_out} are left "
            "out; "
            f"the limit is {MAX_TEXT_CHARS}."
        )
    return kept, left_out


def _with_lesson(why: str, instead: str) -> str:
    """Append the lesson to the reason."""
    lesson, _ = _cut(one_line(instead), "lesson")
    return "; ".join(part for part in (why, f"{INSTEAD}{lesson}" if lesson else "") if part)


def _ask(question: str) -> str:
    """Ask the user; return the answer, which may be empty."""
    answer: str = typer.prompt(question, default="", show_default=False, prompt_suffix=" ")
    return answer


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _check_outcome(success: bool, failed: bool, kind: str, instead: str) -> None:
    """Raise BadInput for contradicting options."""
    if success and failed:
        raise BadInput(
            "--success",
            "--success and --failed contradict each other.",
            remedy="Use one of them; two outcomes are two memories.",
        )
    kind = record_type(kind)
    if (success and kind == "antipattern") or (failed and kind == "pattern"):
        outcome = "--success" if success else "--failed"
        raise BadInput(
            "--type",
            f"{outcome} and --type {kind} contradict each other.",
            remedy="Use one of them.",
        )
    if instead and not failed:
        raise BadInput(
            "--instead",
            "--instead is the lesson of a failure.",
            remedy="Add --failed, or give a reason with --why.",
        )


def _evidence(when: str, also: str) -> dict[str, str]:
    """Return what is stated beside the text: when it applies, and other words to find it by."""
    from memory_fabric.redaction.redact import redact  # not needed for --help

    stated = {WHEN: redact(one_line(when)), ALSO: redact(one_line(also))}
    return {key: _cut(value, key)[0] for key, value in stated.items() if value}


def _replaced(memory: Memory, names: Sequence[str], stated: Record) -> list[str]:
    """Return the ids of the records that are named to be replaced; each must be of one kind."""
    found = [record_by_id(memory, name)[0] for name in names]
    for old in found:
        if (old.scope, old.domain) != (stated.scope, stated.domain):
            raise BadInput(
                "--instead-of",
                f"{short_id(old.id)} has the scope {old.scope} and the domain {old.domain}, the "
                f"new memory {stated.scope} and {stated.domain}.",
                remedy=f"Add --scope {old.scope} --domain {old.domain}, or forget it instead.",
            )
    return [old.id for old in found]


def _type(kind: str, success: bool, failed: bool) -> str:
    """Return the type of the options; empty to infer it from the text."""
    kind = record_type(kind)
    if kind and kind not in STATED_TYPES:
        raise BadInput(
            "--type",
            f"There is no type {kind!r}.",
            remedy=f"Use {', '.join([*STATED_TYPES, *TYPE_ALIASES])}.",
        )
    return kind or ("pattern" if success else "antipattern" if failed else "")


def _domain(stated: str) -> str:
    """Return the normalized name of the domain; empty for none."""
    name = stated_name(stated)
    if stated and not name:
        raise BadInput(
            "--domain",
            f"{stated!r} is not a domain name.",
            remedy="Use letters and digits, as in legal_advisor.",
        )
    return name


def _scope(scope: str, for_all: bool) -> str:
    if scope and scope not in SCOPES:
        raise BadInput(
            "--scope", f"There is no scope {scope!r}.", remedy=f"Use {', '.join(SCOPES)}."
        )
    if for_all and scope not in ("", "global"):
        raise BadInput(
            "--global", f"--global contradicts --scope {scope}.", remedy="Use one of them."
        )
    return "global" if for_all else scope or "team"


def _store(
    memory: Memory, complete: Record, agent: str, replaced: Sequence[str]
) -> statement_report.Confirmation:
    """Store the record and return its confirmation."""
    from memory_fabric.capture.remember import state  # not needed to reject a text

    provenance = environment.provenance()._replace(agent=agent, domain=complete.domain)
    stored, is_new = state(memory, complete, provenance, replaced)
    if stored is None:
        raise StoreUnavailable(
            "", "The record was written but cannot be found.", remedy="Run memory-fabric doctor."
        )
    memory.flush()
    return statement_report.confirmation(memory, stored, repeated=not is_new)


def _completed(memory: Memory, stated: Record) -> Record:
    """Add the type, reason, alternatives, entities and relations that the text states."""
    from memory_fabric.capture import remember as capturing
    from memory_fabric.redaction.redact import redact

    # Before entities are extracted: a secret alone may not look like one.
    text, why = redact(stated.what), redact(stated.why)
    told = capturing.stated(memory, text, type=stated.type, why=why)
    outcome = stated.outcome if stated.outcome != "neutral" else told.outcome
    return told._replace(
        outcome=outcome,
        category=stated.category,
        scope=stated.scope,
        domain=stated.domain,
        evidence=stated.evidence,
    )
