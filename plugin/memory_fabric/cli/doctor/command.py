"""doctor: check everything that the plugin depends on."""

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
# For output encodings without these characters.
PLAIN_SYMBOLS = {OK: "+", WARNING: "!", FAULT: "x"}
STATE_CHARS = 9
COUNTED = {OK: "fine", WARNING: "to look at", FAULT: "broken"}


def doctor(
    proof: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Also run a test memory, the canary, through everything in a temporary home: "
            "stored from a prompt, given to a prompt of another session and to a subagent, "
            "written by Stop into all three tiers, served by the MCP server, and purged. Then "
            "**delivery**: how many prompts were given memories by Claude Code's transcripts of "
            "this project (the newest 20 of the last 14 days, the last 8 MB of each), the last "
            "receipts (time, session, ids, and words of the memory that an answer has but no "
            "prompt had), sessions without hooks, and injections in the ledger that no transcript "
            "shows. An answer may mention a memory that it knew otherwise, or follow one in other "
            "words.",
        ),
    ] = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Repair what is safe to repair, show it, and check again: permissions of files, a "
            "missing interpreter, a failed or interrupted installation, incomplete files of "
            "killed processes, waiting changes, lost journals, indexes that do not match. The "
            "settings of Claude Code, the owner of files and an incomplete block in MEMORY.md are "
            "left to you. Lock files stay: a lock ends with the process that holds it.",
        ),
    ] = False,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Answer in JSON: a list with name, state (`ok`, `warning`, `fault`), told, "
            "remedy, "
            "area and fixable; details and mended if there are any.",
        ),
    ] = False,
) -> int:
    """Check all that memory depends on, and name remedies.

    - **Installation**: interpreter and packages, the files of the plugin, the semantic extra
    - **Claude Code**: release, settings files that cannot be read, hooks that are missing,
      disabled, set up twice or all switched off (`disableAllHooks`), another server named
      `memory`, permission rules that deny the tools or name those of another server, variables
      that turn memory off or redirect it
    - **At work**: switches, the last run of a hook here, warnings of hooks today
    - **Storage**: permissions and owner of files, free space, shared file systems, leftover files,
      queue, indexes, backups, the three tiers

    Exit code 1 for a `fault`, but not for a `warning`.
    """
    mended = _repair() if fix else {}
    with table.sight() as seen:
        found = table.with_mended(table.examine(seen), mended)
        root = seen.settings.plugin_root
        found += [*_canary(root), *table.receipts(seen)] if proof else []
    if as_json:
        show.json_out([finding.as_json(check) for check in found])
    else:
        _show(found)
    return 1 if any(check.state == FAULT for check in found) else 0


def _repair() -> dict[str, tuple[str, ...]]:
    """Repair what is fixable and return the repairs by check; warn of failures."""
    with table.sight() as seen:
        mended = table.mend(table.examine(seen), seen)
        for failure in seen.memory.failures:
            show.warn(failure)
    return mended


def _canary(root: str) -> list[Check]:
    if not root:
        raise BadInput(
            "--prove",
            "This package is installed without the plugin's hooks.",
            remedy=f"Run {client.INSTALL}.",
        )
    return [replace(check, area=table.CANARY) for check in prove(root)]


def _show(found: Sequence[Check]) -> None:
    width = max(len(check.name) for check in found)
    for area in table.AREAS:
        checks = [check for check in found if check.area == area]
        if checks:
            show.line(area, style="bold")
            show.rows(
                (_state(check.state), check.name.ljust(width), _told(check)) for check in checks
            )
    # `18 checks: 16 fine, 2 to look at`.
    counts = {state: sum(check.state == state for check in found) for state in COUNTED}
    parts = [f"{number} {COUNTED[state]}" for state, number in counts.items() if number]
    fixable = any(check.fixable and check.state != OK for check in found)
    hint = " memory-fabric doctor --fix repairs some of it." if fixable else ""
    show.line(f"{len(found)} checks: {', '.join(parts)}.{hint}")


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
    return "\n".join([head, *check.details, *(f"repaired: {done}" for done in check.mended)])
