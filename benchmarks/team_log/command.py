"""The command line of the benchmark: parts by name, their sizes, a table or JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from team_log import rounds
from team_log.cluster import server_of


class Line(NamedTuple):
    """One line of a part's table: the thing, the figure, and `wrong` if it is not as it must be."""

    thing: str
    figure: str
    wrong: bool = False


Lines = list[Line]


def random_rounds(options: argparse.Namespace) -> Lines:
    """Random rounds over five machines in one process."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, server_of(rounds.MEMBERS) as server:
        found = rounds.run(folder, server, options.rounds, options.seed)
    spent_s = time.perf_counter() - began
    told = ", ".join(f"{count} {name}" for name, count in found.counts.items())
    return [
        Line("rounds over 5 machines", f"{found.rounds} in {spent_s:.0f} s"),
        Line("of which", told),
        Line("operations acknowledged", str(found.acknowledged)),
        Line("acknowledged and missing", str(len(found.missing)), bool(found.missing)),
        Line("records at the end", str(found.records)),
        Line("differences between machines", str(len(found.differing)), bool(found.differing)),
        *(Line("difference", text, True) for text in found.differing[:20]),
    ]


PARTS: Mapping[str, Callable[[argparse.Namespace], Lines]] = {"rounds": random_rounds}


def main(description: str, arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return 0, or 1 under --check if something is wrong."""
    options = _options(description, arguments)
    report: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "python": platform.python_version(),
    }
    wrong = False
    for name in options.only:
        lines = PARTS[name](options)
        wrong = wrong or any(line.wrong for line in lines)
        load = " ".join(f"{part:.1f}" for part in os.getloadavg())
        report[name] = [line._asdict() for line in lines] + [{"load": load}]
        if not options.json:
            print(f"\n{name} (load {load})\n\n| | |\n|---|---|")
            for line in lines:
                print(f"| {line.thing} | {line.figure} |", flush=True)
    if options.json:
        print(json.dumps(report, indent=1))
    return 1 if wrong and options.check else 0


def _parts(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no part {unknown[0]}; use {', '.join(PARTS)}")
    return names


def _options(description: str, arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=_parts, default=list(PARTS), metavar="PART,…")
    parser.add_argument("--rounds", type=int, default=1000, help="random rounds (1000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="fail when something is wrong")
    return parser.parse_args(arguments)
