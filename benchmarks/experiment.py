"""Does a coding agent succeed more often with memory? Prepares a blind, paired run, and scores it.

    python3 benchmarks/experiment.py packets --tasks held --remem FILE --out DIR      for a writer
    python3 benchmarks/experiment.py prepare --tasks learn --before DIR --out DIR     the pilot
    python3 benchmarks/experiment.py prepare --tasks held --remem FILE --written DIR --out DIR
    python3 benchmarks/experiment.py score --remem FILE --out DIR --results FILE      hidden tests
    python3 benchmarks/experiment.py table FILE...                                    the tables

`prepare` makes DIR/solvers/NN/NN with PROMPT.md and repo/ for solvers, who are told nothing of
arms, and DIR/key.json, which stays with the scorer. The plan, with its predictions, is
benchmarks/coding_tasks/PREREGISTRATION.md.

Needs git, pip with access to PyPI (own tasks), Debian's faketime, and for remem's tasks FILE, the
coding_tasks.json of remem's coding bench.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from coding_tasks import arms, scoring
from coding_tasks.repositories import fetch
from coding_tasks.scoring import Solve
from coding_tasks.sets import (
    HARMS,
    MATTERS,
    REMEM,
    Note,
    Task,
    other_notes,
    own,
    remem,
    remem_files,
)
from replays.hooks import ROOT, Hooks, installed_clock

BARE, PLACEBO, CLAUDE_MD = "bare", "placebo", "claude_md"
MEMORY, CHANGED, BEFORE, WRITTEN = "memory", "memory, changed", "memory before", "memory, written"
# Arms with the replicates of each: of the pilot, and of the run on the held tasks.
PILOT = {BARE: 1, PLACEBO: 1, MEMORY: 1, BEFORE: 1}
HELD = {BARE: 1, PLACEBO: 3, CLAUDE_MD: 1, MEMORY: 3, CHANGED: 1, WRITTEN: 1}
# Tasks that a solver gets; a solver of the arm CLAUDE.md, which shows all facts, gets no other arm.
BATCH = 13
# Beside the checkout's other caches, so that a second run needs no network.
ARCHIVES = os.path.join(ROOT, ".archives")
RECALL_LINE = 'In this shell the memory\'s tool `recall` is the command `../recall "question"`.'


def packets(options: argparse.Namespace) -> None:
    """Write a packet for each task with a fact: the session that states it, for a writer."""
    for task in _tasks(options):
        if task.stratum in MATTERS:
            folder = os.path.join(options.out, task.id)
            hooks = _session_before(os.path.join(folder, "store"), task)
            text = _conversation(hooks, task)
            _write(os.path.join(options.out, "packets", task.id, "PACKET.md"), text)
            shutil.rmtree(folder)


def prepare(options: argparse.Namespace) -> None:
    """Make the solvers' folders and the key."""
    tasks = _tasks(options)
    plan = PILOT if options.before else HELD
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        shown = pool.map(lambda task: dict(_texts(task, options, plan)), tasks)
    texts = {task.id: arms_of for task, arms_of in zip(tasks, shown, strict=True)}
    key = {}
    for solver, cells in enumerate(_square(tasks, plan, options.seed)):
        for place, (task, arm, replicate) in enumerate(cells):
            if arm not in texts[task.id]:
                continue
            name = f"{solver:02d}/{place:02d}"
            _make_cell(os.path.join(options.out, "solvers", name), task, arm, texts, options)
            key[name] = {"task": task.id, "arm": arm, "replicate": replicate}
    _write(os.path.join(options.out, "key.json"), json.dumps(key, indent=1))
    _write(os.path.join(options.out, "texts.json"), json.dumps(texts, indent=1))
    print(f"{len(key)} solves by {len({name[:2] for name in key})} solvers")


def score(options: argparse.Namespace) -> None:
    """Run the hidden tests on every cell and write the results: arm, text, patch and success."""
    tasks = {task.id: task for task in [*own(), *(remem(options.remem) if options.remem else [])]}
    with open(os.path.join(options.out, "key.json"), encoding="utf-8") as file:
        key = json.load(file)
    with open(os.path.join(options.out, "texts.json"), encoding="utf-8") as file:
        texts = json.load(file)
    with open(options.results, "w", encoding="utf-8") as file:
        for name, cell in sorted(key.items()):
            folder = os.path.join(options.out, "solvers", name)
            task, repo = tasks[cell["task"]], os.path.join(folder, "repo")
            row = {
                **cell,
                "solver": name,
                "stratum": task.stratum,
                "is_own": task.repository != REMEM,
                "passed": scoring.passes(task, repo),
                "recalled": _lines(os.path.join(folder, "recalled.log")),
                "patch": _patch(repo),
            }
            # Texts of replicates are equal: the first has it.
            if not cell["replicate"]:
                row["text"] = texts[task.id][cell["arm"]]
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    table(argparse.Namespace(results=[options.results]))


def table(options: argparse.Namespace) -> None:
    """Print success by arm and stratum, each replicate, and the contrasts."""
    rows = [json.loads(line) for name in options.results for line in _lines(name)]
    for title, chosen in _groups(rows):
        solves = [Solve(*(row[field] for field in Solve._fields)) for row in chosen]
        names = sorted({solve.arm for solve in solves})
        print(f"\n{title}: {len({solve.task for solve in solves})} tasks")
        for arm in names:
            passed, count = scoring.rate(solves, arm)
            each = _each_replicate(solves, arm)
            print(f"  {arm:16} {passed:3} of {count:3}  {passed / count:.2f}  {each}")
        for arm, other in _contrasts(names):
            row = scoring.contrast(solves, arm, other)
            print(
                f"  {arm} - {other}: {row.difference:+.2f} [{row.low:+.2f}, {row.high:+.2f}], "
                f"{row.better} better, {row.worse} worse of {row.tasks}, p {row.p:.3f}"
            )


def _tasks(options: argparse.Namespace) -> list[Task]:
    chosen = [task for task in own() if task.half == options.tasks]
    return chosen + (remem(options.remem) if options.remem else [])


def _texts(
    task: Task, options: argparse.Namespace, plan: Mapping[str, int]
) -> Iterator[tuple[str, str]]:
    """Yield the arms that the task has, with what each shows."""
    others = other_notes(task.repository)[: options.notes]
    shown = _shown(task, MEMORY, others, options)
    yield BARE, ""
    yield MEMORY, shown
    yield PLACEBO, arms.placebo(len(shown.split()))
    if CLAUDE_MD in plan:
        same = [t for t in _all(options) if t.repository == task.repository]
        facts = [fact for other in same for fact in other.facts]
        yield CLAUDE_MD, arms.claude_md(others, facts)
    if CHANGED in plan and task.old:
        yield CHANGED, _shown(task, CHANGED, others, options)
    if BEFORE in plan:
        yield BEFORE, _shown(task, BEFORE, others, options)
    if WRITTEN in plan and task.stratum in MATTERS:
        yield WRITTEN, _shown(task, WRITTEN, others, options)


def _all(options: argparse.Namespace) -> list[Task]:
    return [*own(), *(remem(options.remem) if options.remem else [])]


def _shown(task: Task, arm: str, others: Sequence[Note], options: argparse.Namespace) -> str:
    """Return the text of an arm; a store that an interrupted run had filled is taken as it is."""
    folder = _store(task, arm, options)
    path = os.path.join(folder, "shown.txt")
    if not os.path.exists(path):
        shutil.rmtree(folder, ignore_errors=True)
        _write(path, _filled(folder, task, arm, others, options))
    with open(path, encoding="utf-8") as file:
        return file.read()


def _filled(
    folder: str, task: Task, arm: str, others: Sequence[Note], options: argparse.Namespace
) -> str:
    """Fill an arm's store and return what it shows."""
    if arm == WRITTEN:
        hooks = _session_before(folder, task, others)
        _answer_packet(hooks, task, options.written)
        return arms.ask(hooks, task.prompt)
    plugin = os.path.abspath(options.before) if arm == BEFORE else ROOT
    hooks = arms.memory(folder, task, others, is_linked=arm != CHANGED, plugin=plugin)
    return arms.ask(hooks, task.prompt)


def _store(task: Task, arm: str, options: argparse.Namespace) -> str:
    return os.path.join(options.out, "stores", task.id, re.sub(r"\W+", "-", arm))


def _square(
    tasks: Sequence[Task], plan: Mapping[str, int], seed: int
) -> Iterator[list[tuple[Task, str, int]]]:
    """Yield each solver's cells: a Latin square of tasks and arms, nobody sees a task twice."""
    rng = random.Random(seed)
    for apart in (False, True):
        columns = [
            (arm, number)
            for arm, count in plan.items()
            for number in range(count)
            if (arm == CLAUDE_MD) == apart
        ]
        rng.shuffle(columns)
        for row in range(len(columns)):
            cells = [
                (task, *columns[(place + row) % len(columns)]) for place, task in enumerate(tasks)
            ]
            rng.shuffle(cells)
            parts = -(-len(cells) // BATCH)
            yield from (cells[part::parts] for part in range(parts))


def _make_cell(
    folder: str, task: Task, arm: str, texts: Mapping[str, Any], options: argparse.Namespace
) -> None:
    context, repo = texts[task.id][arm], os.path.join(folder, "repo")
    if task.repository == REMEM:
        for path, text in remem_files(options.remem).items():
            _write(os.path.join(repo, path), text)
    else:
        shutil.copytree(fetch(task.repository, ARCHIVES), repo)
    git = ["git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.invalid"]
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "Import")):
        subprocess.run([*git, *words], check=True)
    parts = [context, "---", task.prompt] if context else [task.prompt]
    if arm in (MEMORY, CHANGED, BEFORE, WRITTEN):
        parts.insert(1, RECALL_LINE)
        _make_recall(folder, _store(task, arm, options), arm, options)
    _write(os.path.join(folder, "PROMPT.md"), "\n\n".join(parts) + "\n")


def _make_recall(folder: str, store: str, arm: str, options: argparse.Namespace) -> None:
    """Write the command that asks the cell's memory, and notes each question."""
    plugin = os.path.abspath(options.before) if arm == BEFORE else ROOT
    home, projects = os.path.join(store, "home"), os.path.join(store, "project")
    project = os.path.join(projects, os.listdir(projects)[0])
    quote = shlex.quote
    lines = [
        "#!/bin/sh",
        f'echo "$*" >> {quote(os.path.abspath(os.path.join(folder, "recalled.log")))}',
        f"cd {quote(os.path.abspath(project))} || exit 1",
        f"export HOME={quote(os.path.abspath(home))}",
        'export MEMORY_FABRIC_HOME="$HOME/fabric"',
        f'exec {quote(os.path.join(plugin, "bin", "memory-fabric"))} recall "$*"',
    ]
    path = os.path.join(folder, "recall")
    _write(path, "\n".join(lines) + "\n")
    os.chmod(path, 0o755)


def _session_before(folder: str, task: Task, others: Sequence[Note] = ()) -> Hooks:
    """Return the hooks of a memory with the other notes, before the session of the packet."""
    absent = task._replace(facts=(), old=(), stratum="absent")
    hooks = arms.memory(folder, absent, others, is_linked=True)
    hooks.now_s -= arms.DAY_S
    return hooks


def _conversation(hooks: Hooks, task: Task) -> str:
    """Return the packet: the session's turns with what the hooks told at its start and prompts."""
    hooks.start("stating")
    parts = ["# At the session's start", hooks.fire("SessionStart", source="startup").context]
    for role, text in task.conversation:
        parts += [f"# The {'user' if role == 'user' else 'assistant (you)'}", text]
        if role == "user":
            told = hooks.fire("UserPromptSubmit", prompt=text).context
            parts += ["# Told with the prompt", told] if told else []
    return "\n\n".join(parts) + "\n"


def _answer_packet(hooks: Hooks, task: Task, written: str) -> None:
    """Play the packet's session with the writer's answer at its end."""
    with open(os.path.join(written, "packets", task.id, "ANSWER.md"), encoding="utf-8") as file:
        turns = [*task.conversation, ("assistant", file.read().strip())]
    hooks.start("stating")
    hooks.fire("SessionStart", source="startup")
    for role, text in turns:
        if role == "user":
            hooks.write("user", text)
            hooks.fire("UserPromptSubmit", prompt=text)
        else:
            hooks.write("assistant", [{"type": "text", "text": text}])
            hooks.fire("Stop", last_assistant_message=text)
    hooks.fire("SessionEnd", reason="prompt_input_exit")
    hooks.now_s += arms.DAY_S


def _groups(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    groups = {
        "A fact matters": [row for row in rows if row["stratum"] in MATTERS],
        "… in own tasks": [row for row in rows if row["stratum"] in MATTERS and row["is_own"]],
        "… in remem's tasks": [row for row in rows if not row["is_own"]],
        "Nothing on record helps": [row for row in rows if row["stratum"] in HARMS],
        **{f"… {s}": [row for row in rows if row["stratum"] == s] for s in (*HARMS, "changed")},
        "All": list(rows),
    }
    return ((title, chosen) for title, chosen in groups.items() if chosen)


def _contrasts(names: Sequence[str]) -> list[tuple[str, str]]:
    pairs = [(MEMORY, PLACEBO), (MEMORY, BARE), (MEMORY, CLAUDE_MD), (MEMORY, BEFORE)]
    pairs += [(CHANGED, PLACEBO), (CHANGED, MEMORY), (WRITTEN, PLACEBO), (WRITTEN, MEMORY)]
    return [pair for pair in [*pairs, (PLACEBO, BARE)] if set(pair) <= set(names)]


def _each_replicate(solves: Sequence[Solve], arm: str) -> str:
    numbers = sorted({solve.replicate for solve in solves if solve.arm == arm})
    rates = [scoring.rate([s for s in solves if s.replicate == n], arm) for n in numbers]
    return ", ".join(f"{passed}/{count}" for passed, count in rates) if len(numbers) > 1 else ""


def _patch(repo: str) -> str:
    subprocess.run(["git", "-C", repo, "add", "-A"], check=True)
    words = ["diff", "--cached", "--", ".", ":!*.pyc"]
    return subprocess.run(
        ["git", "-C", repo, *words], check=True, capture_output=True, text=True
    ).stdout


def _lines(path: str) -> list[str]:
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main() -> None:
    """Run the subcommand of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for command in (packets, prepare, score, table):
        sub = commands.add_parser(command.__name__, help=(command.__doc__ or "").splitlines()[0])
        sub.set_defaults(run=command)
        if command is table:
            sub.add_argument("results", nargs="+", metavar="FILE")
            continue
        sub.add_argument("--out", required=True, metavar="DIR")
        sub.add_argument("--remem", metavar="FILE")
        if command is score:
            sub.add_argument("--results", required=True, metavar="FILE")
            continue
        sub.add_argument("--tasks", choices=("learn", "held"), required=True)
        if command is prepare:
            sub.add_argument("--notes", type=int, default=30)
            sub.add_argument("--seed", type=int, default=7)
            sub.add_argument("--before", metavar="DIR", help="an older checkout: this is a pilot")
            sub.add_argument("--written", metavar="DIR", help="the packets with a writer's answers")
    options = parser.parse_args()
    if options.run in (packets, prepare) and not installed_clock():
        sys.exit("This needs libfaketime: install Debian's package faketime.")
    options.run(options)


if __name__ == "__main__":
    main()
