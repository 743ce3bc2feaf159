"""The effect of faults on memory: ours and the reference server, broken in the same ways.

    python3 benchmarks/faults.py                      all seventeen, in about forty minutes
    python3 benchmarks/faults.py --only 1,4 --rounds 20
    python3 benchmarks/faults.py --check              exit status 1 when ours lost anything
    python3 benchmarks/faults.py --json

Every fault is real: server and hook processes, signals, full disks, damaged files, held locks. Lost
is what was acknowledged with success and is not in the graph afterwards, after what waited was
applied, read by a fresh server. Unreadable is what was known before and is not there either. Needs
what `scripts/prepare` installs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from damage import Damage, Row, Scale
from driver import with_packages
from fault_kinds.fault_around import clock_set_back, held_locks, newer_schema
from fault_kinds.fault_deaths import killed
from fault_kinds.fault_files import corrupt_inputs
from fault_kinds.fault_flood import flooded_hooks
from fault_kinds.fault_hooks import held_up_hooks
from fault_kinds.fault_inputs import hard_inputs
from fault_kinds.fault_live import servers_killed
from fault_kinds.fault_places import full_disk, read_only_home
from fault_kinds.fault_serve import serve_killed, serve_on_full_disk
from fault_kinds.fault_writers import hooks_beside, many_processes, one_file, parallel_calls

Fault = Callable[[str, Scale], Iterator[Row]]

FAULTS: Mapping[int, Fault] = {
    1: many_processes,
    2: parallel_calls,
    3: hooks_beside,
    4: killed,
    5: full_disk,
    6: read_only_home,
    7: corrupt_inputs,
    8: held_locks,
    9: clock_set_back,
    10: hard_inputs,
    11: newer_schema,
    12: one_file,
    13: serve_killed,
    14: serve_on_full_disk,
    15: held_up_hooks,
    16: flooded_hooks,
    17: servers_killed,
}
HEAD = (
    "| fault | ours: acknowledged, lost | unreadable | message "
    "| reference: acknowledged, lost | unreadable | message |"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 0, or 1 under --check when ours lost something or broke a law."""
    options = _options(arguments)
    scale = Scale(rounds=options.rounds, kills=options.kills)
    rows: list[Row] = []
    if not options.json:
        print(f"{HEAD}\n|---|---|---|---|---|---|---|", flush=True)
    for number in options.only:
        for row in broken_by(FAULTS[number], scale):
            rows.append(row)
            if not options.json:
                print(line(row), flush=True)
    if options.json:
        print(json.dumps(_report(rows, scale), indent=1))
    harmed = [row for row in rows if row.ours.is_harmful]
    for row in harmed if not options.json else []:
        print(f"broken: {row.fault}: {harm(row.ours)}")
    return 1 if harmed and options.check else 0


def broken_by(fault: Fault, scale: Scale) -> Iterator[Row]:
    """The rows of one fault, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        yield from fault(os.path.realpath(folder), scale)


def line(row: Row) -> str:
    """One line of the Markdown table."""
    cells = [row.fault, *_cells(row.ours), *(_cells(row.theirs) if row.theirs else ["—"] * 3)]
    return f"| {' | '.join(cells)} |"


def harm(damage: Damage) -> str:
    """Return the losses and the broken laws, in words; empty if there are none."""
    counted = [
        f"{damage.lost} of {damage.acknowledged} acknowledged writes lost" if damage.lost else "",
        f"{damage.unreadable} unreadable" if damage.unreadable else "",
    ]
    return "; ".join([*filter(None, counted), *damage.broken])


def _cells(damage: Damage) -> list[str]:
    lost = f"**{damage.lost}**" if damage.lost else "0"
    unreadable = f"**{damage.unreadable}**" if damage.unreadable else "0"
    said = "; ".join((*damage.broken, damage.message) if damage.message else damage.broken)
    return [f"{damage.acknowledged}, {lost}", unreadable, said]


def _report(rows: Sequence[Row], scale: Scale) -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "python": platform.python_version(),
        "scale": scale._asdict(),
        "rows": [
            {
                "number": row.number,
                "fault": row.fault,
                "ours": row.ours._asdict(),
                "reference": row.theirs._asdict() if row.theirs else None,
            }
            for row in rows
        ],
    }


def _numbers(text: str) -> list[int]:
    numbers = [int(word) for word in text.split(",")]
    unknown = [number for number in numbers if number not in FAULTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no fault {unknown[0]}; 1 to {max(FAULTS)} are")
    return numbers


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=_numbers, default=list(FAULTS), metavar="N,…")
    parser.add_argument("--rounds", type=int, default=Scale().rounds, help="kills (100)")
    parser.add_argument(
        "--kills", type=int, default=Scale().kills, help="kills of sessions' servers (2,000)"
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="fail when ours lost anything")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    with_packages()
    sys.exit(main())
