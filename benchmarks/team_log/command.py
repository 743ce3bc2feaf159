"""The command line of the benchmark: parts by name, their sizes, a table or JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from processes import quantile
from team_log import git_rounds, homes, kills, latency, rounds, shared_server, speed
from team_log.cluster import Server, server_of
from team_log.comparison import Found
from team_log.speed import DURABLE

# Rounds with the same machines: what is read again after a move grows with them.
SERIES, GIT_SERIES = 500, 100


class Line(NamedTuple):
    """One line of a part's table: the thing, the figure, and `wrong` if it is not as it must be."""

    thing: str
    figure: str
    wrong: bool = False


Lines = list[Line]


def random_rounds(options: argparse.Namespace) -> Lines:
    """Random rounds over five machines in one process, in series with new machines and seeds."""
    return _in_series(partial(_with_server, rounds.run), options.rounds, options.seed)


def rounds_by_git(options: argparse.Namespace) -> Lines:
    """The same with five machines of one user and a git repository."""
    return _in_series(git_rounds.run, options.rounds, options.seed, GIT_SERIES)


def rounds_with_kills(options: argparse.Namespace) -> Lines:
    """Rounds in which processes and the server are killed, and the network is cut."""
    run = partial(_with_server, kills.run, synchronous_commit="on")
    return _in_series(run, options.kills, options.seed)


def many_homes(options: argparse.Namespace) -> Lines:
    """Homes on one server: five work, the others follow."""
    members = homes.names(options.homes)
    busy, others = members[:5], members[5:]
    lines = []
    with tempfile.TemporaryDirectory() as folder, server_of(members, **DURABLE) as server:
        cost = homes.idle(os.path.join(folder, "idle"), server, others, options.seconds)
        hours = [f"{cost.client_s_per_hour:.1f} s", f"{cost.server_s_per_hour:.1f} s"]
        lines.append(Line("an idle home, processor time an hour", hours[0]))
        lines.append(Line("the same on the server", hours[1]))
        place = os.path.join(folder, "working")
        found = homes.working(place, server, busy, others, options.seconds)
    return [
        Line("homes, of which five work", str(found.homes)),
        Line("operations pushed a second", f"{found.pushed_per_s:.0f}"),
        Line("until the others had read them", f"{found.caught_up_s:.1f} s after the last push"),
        *lines,
    ]


def raw_speed(options: argparse.Namespace) -> Lines:
    """Push and pull with one connection and nothing else."""
    with server_of(rounds.MEMBERS, **DURABLE) as server:
        found = speed.raw(server, options.operations)
    return [
        Line("operations pushed a second", f"{found.pushed_per_s:.0f}"),
        Line(f"the same by {speed.TOGETHER} clients", f"{found.together_per_s:.0f}"),
        Line("the same, one in a request", f"{found.ones_together_per_s:.0f}"),
        Line("operations pulled a second", f"{found.pulled_per_s:.0f}"),
        Line("push of one operation, median", f"{found.push_of_one_ms:.1f} ms"),
        Line("pull of nothing, median", f"{found.pull_of_nothing_ms:.1f} ms"),
    ]


def new_machine(options: argparse.Namespace) -> Lines:
    """A new machine reads a long log."""
    made = server_of((*rounds.MEMBERS, "eve"), **DURABLE)
    with tempfile.TemporaryDirectory() as folder, made as server:
        found = speed.bulk(folder, server, options.operations)
    return [
        Line("operations pulled into a new machine", str(found.operations)),
        Line("seconds", f"{found.seconds:.1f}, of processor {found.cpu_seconds:.1f}"),
        Line("bytes an operation on the server", f"{found.server_bytes:.0f}"),
        Line("bytes an operation on the machine", f"{found.local_bytes:.0f}"),
    ]


def statement_to_prompt(options: argparse.Namespace) -> Lines:
    """From a statement on one machine to a prompt on another."""
    with tempfile.TemporaryDirectory() as folder:
        followed, detached = latency.measured(folder, options.samples)
    return [
        Line("told while an MCP server runs there, median", f"{quantile(followed, 0.5):.1f} s"),
        Line("the same, longest", f"{max(followed):.1f} s", max(followed) > latency.MOST_S),
        Line("without: from a start until pulled, median", f"{quantile(detached, 0.5):.1f} s"),
        Line("the same, longest", f"{max(detached):.1f} s"),
    ]


def serving(options: argparse.Namespace) -> Lines:
    """Recalls from `serve --team` over a large space."""
    with tempfile.TemporaryDirectory() as folder, server_of(rounds.MEMBERS, **DURABLE) as server:
        filled_s = shared_server.fill(server, options.records)
        size = speed.bytes_on_server(server)
        lines = [
            Line("operations in the space", f"{options.records}, loaded in {filled_s:.0f} s"),
            Line("bytes on the server", f"{size / options.records:.0f} an operation"),
        ]
        for one in shared_server.measured(folder, server, (1, 4, 8), options.seconds):
            figure = (
                f"{one.per_s:.1f} a second, p50 {one.p50_ms:.0f} ms, p95 {one.p95_ms:.0f} ms; "
                f"processor {one.cpu_ms:.0f} ms and {one.database_ms:.0f} ms in PostgreSQL; "
                f"{one.empty} found nothing"
            )
            name = f"recalls {one.asked}: {one.workers} processes, {one.clients} clients"
            lines.append(Line(name, figure, one.failed > 0))
    return lines


def _with_server(
    run: Callable[[str, Server, int, int], Found],
    folder: str,
    count: int,
    seed: int,
    **settings: str,
) -> Found:
    with server_of(rounds.MEMBERS, **settings) as server:
        return run(folder, server, count, seed)


def _in_series(
    run: Callable[[str, int, int], Found], count: int, seed: int, series: int = SERIES
) -> Lines:
    began, found = time.perf_counter(), list[Found]()
    for number, start in enumerate(range(0, count, series)):
        with tempfile.TemporaryDirectory() as folder:
            one = run(folder, min(series, count - start), seed + number)
        found.append(one)
        told = f"{one.rounds} rounds, {len(one.missing)} missing, {len(one.differing)} differ"
        print(f"seed {seed + number}: {told}", file=sys.stderr, flush=True)
    return _of_rounds(found, time.perf_counter() - began)


def _of_rounds(found: Sequence[Found], spent_s: float) -> Lines:
    counts: Counter[str] = Counter()
    for one in found:
        counts.update(one.counts)
    missing = sum(len(one.missing) for one in found)
    differing = [text for one in found for text in one.differing]
    total = sum(one.rounds for one in found)
    return [
        Line("rounds over 5 machines", f"{total} in {len(found)} series, {spent_s:.0f} s"),
        Line("of which", ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))),
        Line("operations acknowledged", str(sum(one.acknowledged for one in found))),
        Line("acknowledged and missing", str(missing), bool(missing)),
        Line("records at the end", str(sum(one.records for one in found))),
        Line("differences between machines", str(len(differing)), bool(differing)),
        *(Line("difference", text, True) for text in differing[:20]),
    ]


PARTS: Mapping[str, Callable[[argparse.Namespace], Lines]] = {
    "rounds": random_rounds,
    "git": rounds_by_git,
    "kills": rounds_with_kills,
    "raw": raw_speed,
    "homes": many_homes,
    "latency": statement_to_prompt,
    "bulk": new_machine,
    "serve": serving,
}


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
                mark = " **wrong**" if line.wrong else ""
                print(f"| {line.thing} | {line.figure}{mark} |", flush=True)
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
    parser.add_argument("--kills", type=int, default=100, help="rounds with kills (100)")
    parser.add_argument("--homes", type=int, default=50, help="homes on one server (50)")
    parser.add_argument("--seconds", type=float, default=20.0, help="for homes (20)")
    parser.add_argument("--samples", type=int, default=5, help="statements for latency (5)")
    parser.add_argument("--operations", type=int, default=10_000, help="for raw and bulk (10,000)")
    parser.add_argument("--records", type=int, default=50_000, help="for serve (50,000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="fail when something is wrong")
    return parser.parse_args(arguments)
