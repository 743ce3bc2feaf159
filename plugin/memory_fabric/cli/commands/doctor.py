"""doctor: check everything that the plugin depends on."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from memory_fabric.cli import environment, show, team_report
from memory_fabric.cli.options import flag
from memory_fabric.clients import settings
from memory_fabric.errors import BadInput
from memory_fabric.health import checks
from memory_fabric.health.check import FAULT, OK, WARNING, Finding, Message, Sight, TieState
from memory_fabric.health.installation import INSTALL
from memory_fabric.hooks.table import HANDLERS
from memory_fabric.store.memory import Memory

STYLES = {OK: "green", WARNING: "yellow", FAULT: "red"}
SYMBOLS = {OK: "✓", WARNING: "!", FAULT: "✗"}
# For output encodings without these characters.
PLAIN_SYMBOLS = {OK: "+", WARNING: "!", FAULT: "x"}
STATE_CHARS = 9
COUNTED = {OK: "fine", WARNING: "to look at", FAULT: "broken"}


def doctor(
    proof: bool = flag(
        "--prove",
        "Also run a test memory, the canary, through everything in a temporary home: stored from "
        "a prompt, given to a prompt of another session and to a subagent, written by Stop into "
        "all three tiers, served by the MCP server, and purged. Then **delivery**: how many "
        "prompts were given memories by Claude Code's transcripts of this project (the newest 20 "
        "of the last 14 days, the last 8 MB of each), the last receipts (time, session, ids, and "
        "words of the memory that an answer has but no prompt had), sessions without hooks, and "
        "injections in the ledger that no transcript shows. An answer may mention a memory that "
        "it knew otherwise, or follow one in other words.",
    ),
    fix: bool = flag(
        "--fix",
        "Repair what is safe to repair, show it, and check again: permissions of files, a missing "
        "interpreter, a failed or interrupted installation, incomplete files of killed processes, "
        "waiting changes, lost journals, indexes that do not match. The settings of Claude Code, "
        "the owner of files and an incomplete block in MEMORY.md are left to you. Lock files "
        "stay: a lock ends with the process that holds it.",
    ),
    as_json: bool = flag(
        "--json",
        "Answer in JSON: a list with name, state (`ok`, `warning`, `fault`), told, remedy, area "
        "and fixable; details and mended if there are any.",
    ),
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
    repairs = _repair() if fix else {}
    with sight() as inputs:
        findings = checks.with_repairs(checks.examine(inputs), repairs)
        if proof:
            findings += [*_canary(inputs.settings.plugin_root), *checks.receipts(inputs)]
    if as_json:
        show.json_out([finding.as_json() for finding in findings])
    else:
        _show(findings)
    return 1 if any(finding.state == FAULT for finding in findings) else 0


@contextmanager
def sight() -> Iterator[Sight]:
    """Collect the input of the checks for this folder."""
    with environment.open_memory() as memory:
        layers, now_s = list(settings.layers(memory.settings)), time.time()
        shell = environment.settings()
        yield Sight(shell, layers, memory, now_s, tuple(HANDLERS), lambda: _ties(memory, now_s))


def _ties(memory: Memory, now_s: float) -> Iterator[TieState]:
    for tie in team_report.ties_here(memory):
        troubles = [Message(t.text, t.remedy) for t in team_report.troubles(memory, tie, now_s)]
        headline = team_report.headline(memory, tie, now_s)
        yield TieState(tie.space, headline, team_report.is_bad(memory, tie, now_s), troubles)


def _repair() -> dict[str, tuple[str, ...]]:
    """Repair what is fixable and return the repairs by check; warn of failures."""
    with sight() as inputs:
        repairs = checks.mend(inputs)
        show.warn_all(inputs.memory.failures)
    return repairs


def _canary(root: str) -> list[Finding]:
    # late: it starts processes, which only --prove needs
    from memory_fabric.health.canary import prove

    if not root:
        text = "This package is installed without the plugin's hooks."
        raise BadInput("--prove", text, remedy=f"Run {INSTALL}.")
    return [finding._replace(area=checks.CANARY) for finding in prove(root)]


def _show(findings: Sequence[Finding]) -> None:
    symbols = SYMBOLS
    try:
        "".join(SYMBOLS.values()).encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        symbols = PLAIN_SYMBOLS
    width = max(len(finding.name) for finding in findings)
    for area in checks.AREAS:
        rows = []
        for f in (finding for finding in findings if finding.area == area):
            state = show.styled(f"{symbols[f.state]} {f.state}".ljust(STATE_CHARS), STYLES[f.state])
            head = f"{f.told}. {f.remedy}" if f.remedy else f.told
            text = "\n".join([head, *f.details, *(f"repaired: {done}" for done in f.mended)])
            rows.append((state, f.name.ljust(width), text))
        if rows:
            show.line(area, style="bold")
            show.rows(rows)
    # `18 checks: 16 fine, 2 to look at`.
    counts = {state: sum(f.state == state for f in findings) for state in COUNTED}
    parts = [f"{number} {COUNTED[state]}" for state, number in counts.items() if number]
    fixable = any(f.fixable and f.state != OK for f in findings)
    hint = " memory-fabric doctor --fix repairs some of it." if fixable else ""
    show.line(f"{len(findings)} checks: {', '.join(parts)}.{hint}")
