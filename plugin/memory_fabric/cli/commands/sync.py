"""sync: bring the tiers up to date."""

from __future__ import annotations

from memory_fabric.cli import environment, forwarding_report, show
from memory_fabric.store.history import resolve
from memory_fabric.store.tiers import memory_md
from memory_fabric.store.tiers import sync as tiers


def sync(as_json: show.AsJson = False) -> int:
    """Bring queue, journal and MEMORY.md up to date now.

    What waits in the queue is applied, and what others shared is taken in. Hooks do the same at
    Stop. Where a receiver is named, what waits to be forwarded is sent (docs/forwarding.md). Exit
    code 1 when something of it failed.
    """
    with environment.open_memory() as memory:
        drained = tiers.drain(memory)
        memory.flush()
        restored = tiers.restore_journals(memory)
        shown = len(memory_md.shown_ids(resolve.native_notes(memory))) if memory.project else 0
        told, sent, failed = forwarding_report.send(memory.settings)
        failures = [*memory.failures, *failed]
    if as_json:
        show.json_out(
            {
                "drained": drained,
                "restored": restored,
                "in_memory_md": shown,
                "forwarded": sent,
                "failures": failures,
            }
        )
    else:
        show.line(f"{drained} waiting changes applied; {shown} memories stand in MEMORY.md.")
        if restored:
            show.line(f"{restored} lines that the journals had lost are written again.")
        if told:
            show.line(told)
        for failure in failures:
            show.complain(failure)
    return 1 if failures else 0
