"""doctor: everything the plugin stands on, each with what helps where it is not well."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from memory_fabric.cli import show
from memory_fabric.cli.doctor import checks as table
from memory_fabric.cli.doctor import client, finding
from memory_fabric.cli.doctor.canary import prove
from memory_fabric.cli.doctor.finding import FAULT, OK, WARNING, Check
from memory_fabric.errors import BadInput

if TYPE_CHECKING:
    from rich.text import Text

STYLES = {OK: "green", WARNING: "yellow", FAULT: "red"}
SYMBOLS = {OK: "✓", WARNING: "!", FAULT: "✗"}
# For terminals and files of another encoding than Unicode.
PLAIN_SYMBOLS = {OK: "+", WARNING: "!", FAULT: "x"}
STATE_CHARS = 9
COUNTED = {OK: "fine", WARNING: "to look at", FAULT: "broken"}


def doctor(
    proof: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Also send a canary through everything, in a scratch home: in by one prompt, out "
            "by the prompt of another session and at a subagent, by Stop from a transcript into "
            "all three tiers, through the MCP server, and erased in the end. Then **delivery**: "
            "Claude Code's own transcripts of this project (the newest 20 of the last 14 days, the "
            "last 8 MB of each) tell how many prompts were given memories, the last receipts "
            "(when, which session, which ids, which of their words an answer has that no prompt "
            "had), sessions in which no hook ran, and what the ledger says was given and no "
            "transcript shows. An answer that mentions a memory may have known it otherwise, and "
            "one that obeys it may use other words.",
        ),
    ] = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Mend what is safe to mend, say what was done and check again: rights of our "
            "files, a remembered interpreter that is gone, an installation that failed or broke "
            "off, half-written files of killed writers, waiting changes, lost journals, indexes "
            "that do not fit. Claude Code's settings, the owner of files and half a fence in "
            "MEMORY.md stay yours. Lock files are left alone: a lock lasts no longer than the "
            "process that holds it.",
        ),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="A list with name, state (`ok`, `warning`, `fault`), told, remedy, area and "
            "fixable of each; details and mended where there are any.",
        ),
    ] = False,
) -> int:
    """Check what memory stands on, by area, each finding with what helps.

    - **Installation**: interpreter and packages, the plugin's own files, the extra for meaning
    - **Claude Code**: release, settings files that cannot be read, hooks that are missing,
      disabled, set up twice or switched off for all (`disableAllHooks`), another server named
      `memory`, permission rules that forbid our tools or name another server's, variables that
      turn memory off or elsewhere
    - **At work**: switches, when a hook last ran here, what hooks complained about today
    - **Storage**: rights and owner of our files, room, file systems that several machines share,
      leftovers, queue, indexes, backups, the three tiers

    Exit code 1 when something is broken (`fault`); what is to be looked at (`warning`) is no
    failure.
    """
    mended = _mend() if fix else {}
    with table.sight() as seen:
        found = table.with_mended(table.examine(seen), mended)
        root = seen.settings.plugin_root
        found += [*_canary(root), *table.receipts(seen)] if proof else []
    if as_json:
        show.json_out([finding.as_json(check) for check in found])
    else:
        _show(found)
    return 1 if any(check.state == FAULT for check in found) else 0


def _mend() -> dict[str, tuple[str, ...]]:
    """What was mended, by check; what could not be is complained of, and is found again."""
    with table.sight() as seen:
        mended = table.mend(table.examine(seen), seen)
        for failure in seen.memory.failures:
            show.complain(failure)
    return mended


def _canary(root: str) -> list[Check]:
    if not root:
        raise BadInput(
            "--prove", "The hooks are not beside this package.", remedy=f"Run {client.INSTALL}."
        )
    return [replace(check, area=table.CANARY) for check in prove(root)]


def _show(found: Sequence[Check]) -> None:
    room = max(len(check.name) for check in found)
    for area in table.AREAS:
        checks = [check for check in found if check.area == area]
        if checks:
            show.line(area, style="bold")
            show.rows(
                (_state(check.state), check.name.ljust(room), _told(check)) for check in checks
            )
    show.line(_sum(found))


def _state(state: str) -> Text:
    return show.styled(f"{_symbols()[state]} {state}".ljust(STATE_CHARS), STYLES[state])


def _symbols() -> dict[str, str]:
    try:
        "".join(SYMBOLS.values()).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return PLAIN_SYMBOLS
    return SYMBOLS


def _told(check: Check) -> str:
    head = f"{check.told}. {check.remedy}" if check.remedy else check.told
    return "\n".join([head, *check.details, *(f"mended: {done}" for done in check.mended)])


def _sum(found: Sequence[Check]) -> str:
    """`18 checks: 16 fine, 2 to look at`."""
    counts = {state: sum(check.state == state for check in found) for state in COUNTED}
    parts = [f"{number} {COUNTED[state]}" for state, number in counts.items() if number]
    fixable = any(check.fixable and check.state != OK for check in found)
    hint = " memory-fabric doctor --fix mends some of it." if fixable else ""
    return f"{len(found)} checks: {', '.join(parts)}.{hint}"
