"""sync: bring the tiers up to date."""

import os

from memory_fabric.cli import environment, forwarding_report, show
from memory_fabric.deadline import Deadline
from memory_fabric.hooks import dispatcher
from memory_fabric.store.history import resolve
from memory_fabric.store.tiers import memory_md
from memory_fabric.store.tiers import sync as tiers


def sync(as_json: show.AsJson = False) -> int:
    """Bring the queue, the journal and MEMORY.md up to date now.

    Waiting changes are applied, and shared records of others are read. Hooks do the same at Stop.
    If a receiver is configured, waiting items are forwarded (docs/forwarding.md). Exit code 1 if
    any of this failed.
    """
    said = dispatcher.finish_late(os.environ, Deadline(), show.warn)
    if said and not as_json:
        show.line(said)
    with environment.open_memory() as memory:
        drained = tiers.drain(memory)
        memory.flush()
        restored = tiers.restore_journals(memory)
        shown = len(memory_md.shown_ids(resolve.memory_md_file(memory))) if memory.project else 0
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
        show.line(f"{drained} waiting changes applied; {shown} memories are in MEMORY.md.")
        if restored:
            show.line(f"{restored} lost journal lines were written again.")
        if told:
            show.line(told)
        for failure in failures:
            show.warn(failure)
    return 1 if failures else 0
