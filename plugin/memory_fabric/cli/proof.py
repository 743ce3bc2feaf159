"""doctor --prove: a canary goes in through the real hooks and must come out of them."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from dataclasses import dataclass

from memory_fabric.cli.door import Door
from memory_fabric.cli.named import tiers_holding
from memory_fabric.store.memory import Memory

OK, WARNING, FAULT = "ok", "warning", "fault"
FIRST, SECOND = "prove-1", "prove-2"
STATED = "We decided to use {canary} for the invoice archive because it never sleeps."
ASKED = "What did we decide to use for the invoice archive?"
TIERS = ("graph", "decisions.jsonl", "MEMORY.md")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: how it is, and what helps where it is not well."""

    name: str
    state: str
    told: str
    remedy: str = ""


def prove(root: str) -> list[Check]:
    """What became of the canary at each step; all in a scratch home that is deleted again.

    Raises OSError when the hooks cannot be started.
    """
    folder = tempfile.mkdtemp(prefix="memory-fabric-prove-")
    try:
        door = Door(root, folder, "canary-cage")
        with door.without_installing():
            return _followed(door, f"heron{secrets.token_hex(4)}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _followed(door: Door, canary: str) -> list[Check]:
    stated = door.ring(door.event("UserPromptSubmit", FIRST, prompt=STATED.format(canary=canary)))
    asked = door.ring(door.event("UserPromptSubmit", SECOND, prompt=ASKED))
    door.ring(door.event("Stop", FIRST, stop_hook_active=False, last_assistant_message="Done."))
    memory = Memory.open(door.settings())
    try:
        found = [r for r in memory.find_records("1") if canary in r.what]
        held = tiers_holding(memory, found[0].id) if found else []
    finally:
        memory.close()
    trace = "; ".join([*door.log()[-3:], stated.errors, asked.errors]).strip("; ")
    checks = [
        _check("canary goes in", bool(found), f"stored in {stated.took_s * 1000:.0f} ms", trace),
        _check(
            "canary comes out",
            canary in asked.context,
            f"given to another session in {asked.took_s * 1000:.0f} ms",
            trace,
        ),
    ]
    return checks + [_check(f"canary in {t}", t in held, "there after Stop", trace) for t in TIERS]


def _check(name: str, well: bool, told: str, trace: str) -> Check:
    if well:
        return Check(name, OK, told)
    return Check(name, FAULT, trace or "it is not there", "Run scripts/demo: it shows each hook.")
