"""The recall of a prompt in one process whose memory is open, as a warm server has it.

    python3 benchmarks/open_memory.py                        10k, 100k and 1M observations
    python3 benchmarks/open_memory.py --sizes 10000 --store FOLDER
    python3 benchmarks/open_memory.py --check                exit status 1 when a budget is broken

Each of 50 questions and of the mix of `prompt_forms` is answered as the handler of a prompt does
it, from its text to the redacted block; the client, the socket and capture are not in it. Times are
of the processor, which other work on the machine changes little, and by the clock; beside them
stands the processor time in bare starts of Python in the same run. `--store`, for one size, keeps
the store there for another run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import NamedTuple

from processes import interpreter, quantile, timed
from workloads.hooks_store import PLUGIN, SUBJECTS, THINGS, environ_of
from workloads.prompt_forms import entities_of, mix

sys.path.insert(0, PLUGIN)

from memory_fabric import ids
from memory_fabric.recall.pipeline import Fabric
from memory_fabric.redaction.redact import block_without_secrets
from memory_fabric.store.home.switches import settings_of
from memory_fabric.store.memory import Memory

# Milliseconds of the processor that the median question may take, up to so many observations.
BUDGETS = ((10_000, 4.0), (100_000, 10.0), (1_000_000, 16.0))
PROMPTS, WARM_UP, BARE_STARTS = 200, 8, 9
USER = 1_000


class Row(NamedTuple):
    """Prompts of a kind: the share that is told anything; median and 95th percentile in ms, of the
    processor and by the clock.
    """

    kind: str
    told: float
    cpu: float
    cpu_p95: float
    clock: float
    clock_p95: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table for each size; 1 when a budget is broken under --check."""
    options = _options(arguments)
    broken = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as scratch:
            folder = options.store or scratch
            if not os.path.isdir(environ_of(folder)["MEMORY_FABRIC_HOME"]):
                _build(folder, size)
            bare_ms = _bare_ms(scratch)
            print(
                f"\n{size:,} observations; a bare start takes {bare_ms:.1f} ms of the processor\n"
            )
            print("| | processor, median (p95) | by the clock | bare starts | told |")
            print("|---|---|---|---|---|")
            for row in measure(folder, size):
                cells = (
                    f"{row.cpu:.1f} ms ({row.cpu_p95:.1f}) | {row.clock:.1f} ({row.clock_p95:.1f})"
                )
                print(f"| {row.kind} | {cells} | {row.cpu / bare_ms:.2f} | {row.told:.0%} |")
                most = next((ms for largest, ms in BUDGETS if size <= largest), BUDGETS[-1][1])
                if row.cpu > most:
                    broken.append(f"{row.kind} at {size:,}: {row.cpu:.1f} ms, at most {most:g}")
    for line in broken:
        print(f"broken: {line}")
    return 1 if broken and options.check else 0


def measure(folder: str, size: int) -> list[Row]:
    """The rows of both kinds of prompts, from one open memory."""
    memory = Memory.open(settings_of(environ_of(folder)))
    questions = [
        f"How does the {subject} service handle {thing} for large tenants?"
        for subject in SUBJECTS[:10]
        for thing in THINGS[:10:2]
    ]
    prompts = [prompt.text for prompt in mix(PROMPTS, entities=entities_of(size))]
    try:
        return [
            _row(memory, kind, texts)
            for kind, texts in (("questions", questions), ("the mix", prompts))
        ]
    finally:
        memory.close()


def _row(memory: Memory, kind: str, texts: Sequence[str]) -> Row:
    for text in texts[:WARM_UP]:
        _answered(memory, text)
    cpu, clock, told = [], [], 0
    for text in texts:
        began, began_cpu = time.perf_counter(), time.process_time()
        told += bool(_answered(memory, text))
        cpu.append((time.process_time() - began_cpu) * 1000)
        clock.append((time.perf_counter() - began) * 1000)
    figures = (quantile(some, q) for some in (cpu, clock) for q in (0.5, 0.95))
    return Row(kind, told / len(texts), *figures)


def _answered(memory: Memory, text: str) -> str:
    fabric = Fabric(memory, ids.timestamp())
    shown = memory.shown_ids(fabric.now)
    return block_without_secrets(fabric.inject_for_prompt(text, session="s1", shown=shown).text)


def _build(folder: str, size: int) -> None:
    """Build the store in a child, whose caches are not ours."""
    hooks = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hooks.py")
    command = [sys.executable, hooks, "--build", folder, "--sizes", str(size), "--user", str(USER)]
    subprocess.run(command, check=True)


def _bare_ms(folder: str) -> float:
    command = [interpreter(), "-I", "-S", "-c", "pass"]
    starts = [timed(command, {}, b"", folder).cpu_seconds for _ in range(BARE_STARTS)]
    return quantile(starts, 0.5) * 1000


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sizes = [most for most, _ in BUDGETS]
    parser.add_argument("--sizes", type=int, nargs="+", default=sizes)
    parser.add_argument("--store", help="the folder of the store, built if it is missing")
    parser.add_argument("--check", action="store_true", help="fail when a budget is broken")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
