"""doctor: everything the plugin stands on, each with what helps where it is not well."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer
from rich.text import Text

from memory_fabric.cli import show
from memory_fabric.cli.checkup import finding, table
from memory_fabric.cli.checkup.finding import FAULT, OK, WARNING, Check
from memory_fabric.cli.proof import prove
from memory_fabric.errors import BadInput

INSTALL = "claude plugin install memory-fabric@memory-fabric"
STYLES = {OK: "green", WARNING: "yellow", FAULT: "red"}
SYMBOLS = {OK: "✓", WARNING: "!", FAULT: "✗"}
# For terminals and files of another encoding than Unicode.
PLAIN_SYMBOLS = {OK: "+", WARNING: "!", FAULT: "x"}
STATE_CHARS = 9
COUNTED = {OK: "fine", WARNING: "to look at", FAULT: "broken"}
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


def doctor(
    proof: Annotated[
        bool,
        typer.Option(
            "--prove",
            help="Also send a canary through hooks and server in a scratch home, and show what "
            "reached the model by Claude Code's own transcripts.",
        ),
    ] = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Mend what is safe to mend (rights of our files, packages, queue, journals, "
            "indexes), and check again. Claude Code's settings are never changed.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check the installation, and say what helps.

    Fails (exit code 1) when something is broken; what is only to be looked at is no failure.
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
            "--prove", "The hooks are not beside this package.", remedy=f"Run {INSTALL}."
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
    return Text(f"{_symbols()[state]} {state}".ljust(STATE_CHARS), style=STYLES[state])


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
