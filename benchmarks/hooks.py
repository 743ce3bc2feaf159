"""The cost of the hooks: whole processes from the exact commands of hooks.json.

    python3 benchmarks/hooks.py                         0, 1k and 10k observations in the project
    python3 benchmarks/hooks.py --way warm              handed to the session's MCP server
    python3 benchmarks/hooks.py --million --runs 9      a million (some minutes to build)
    python3 benchmarks/hooks.py --check                 exit status 1 when a budget is broken
    python3 benchmarks/hooks.py --json
    python3 benchmarks/hooks.py --sizes 10000 --runs 0 --prompts 200     only a mix of prompts
    python3 benchmarks/hooks.py --sizes 10000 --runs 0 --prompts 60 --load 17
    python3 benchmarks/hooks.py --sizes 10000 --runs 0 --prompts 30 --sessions 10

Times are milliseconds, with the ratio to a bare start of Python beside them. On the warm way the
benchmark starts the plugin's MCP server, as the client does, and says how many hooks it answered.
A bare start is `python -I -S -c pass` with the same interpreter, measured between the hooks of the
same run; each hook is compared with the median of the five bare starts around it, since a shared
machine is faster in one second than in the next. Each run is one whole session, so ledgers are
written and every memory is new to it. The stores are built by the product's own write function.
Needs Python >= 3.11 and nothing else.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import platform
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from processes import Sample, interpreter, quantile, timed
from prompt_mix import Mix, compared, measured, print_mix, report, side_by_side
from ways import COLD, WARM, session
from workloads.hooks_store import (
    FIXES,
    NO_FIXES,
    ROOT,
    SUBJECTS,
    THINGS,
    bind,
    build,
    environ_of,
    error_of,
)

# Budgets of the cold way in bare starts, for up to so many observations (docs/decisions/0061).
PROMPT_BUDGETS = ((10_000, 8.0), (100_000, 13.0), (1_000_000, 33.0))
CUE_EXTRA = 5.0
SESSION_BUDGET, WRITER_BUDGET = 9.0, 13.0
# A command where memory has no bound rule, so that the launcher leaves; and where it has some.
LEAVING_BUDGET, RULES_BUDGET = 0.5, 6.0
# After a command: where fixes are on record, and where none are.
FIX_BUDGET, NO_FIX_BUDGET = 6.5, 0.5
# The line for the client's status bar, through bin/memory-fabric.
STATUS_LINE, STATUS_LINE_BUDGET = "statusline", 4.5
MAX_MEMORY_MB = 30.0
# With a server that answers; a prompt in the largest store.
WARM_BUDGETS = {
    "UserPromptSubmit": 2.0,
    "UserPromptSubmit nothing known": 2.0,
    "SubagentStart": 2.0,
    "PreToolUse Bash, other rules": 1.5,
    "PreToolUse Bash, a rule is told": 1.5,
    "PostToolUseFailure with a fix": 1.6,
    "PostToolUse command passed": 1.6,
    "Stop": 2.6,
}
WARM_MILLION_BUDGET = 3.5

TURNS_PER_STOP = 20
# What a long session's transcript holds before the turns that are new.
READ_BEFORE_BYTES = 5 << 20
LONG_STOP = "Stop 20 new behind 5 MB"
OUR_TOOL = "mcp__plugin_memory-fabric_memory__recall"
# A receiver that nobody is: the port that throws away what it gets.
NOBODY = "http://127.0.0.1:9"
# A detached flush follows SessionEnd; the next session must not pay for it.
AFTER_SESSION_S = 0.3
# A 95th percentile of bare starts above so many medians speaks of other work on the machine.
NOISY = 2.0
# Bare starts before and after a hook that it is compared with.
AROUND = 2

UNKNOWN = "xyzzy plugh frobnicate?"


class Step(NamedTuple):
    """One hook of a session: its row in the table, its event, its budget in bare starts.

    `variables` are set for it beside those of the session. A step with `rules` is run while the
    project has some, or has none (False); None changes nothing.
    """

    row: str
    event: Mapping[str, Any]
    budget: float
    recalls: bool = False
    variables: Mapping[str, str] = {}
    rules: bool | None = None


class Row(NamedTuple):
    """A line of the table; times in bare starts but for `median_ms` and `p95_ms`.

    `cpu` compares processor time, which a busy machine hardly changes, of the hook's own process: a
    server's is told beside the table. Budgets are on the wall.
    """

    row: str
    observations: int
    median: float
    p95: float
    cpu: float
    median_ms: float
    p95_ms: float
    memory_mb: float
    budget: float
    broken: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 0, or 1 when a budget is broken under --check."""
    options = _options(arguments)
    if options.build:
        build(options.build, options.sizes[0], options.user)
        return 0
    rows: list[Row] = []
    bare_ms: list[float] = []
    mixes: list[Mix] = []
    broken: list[str] = []
    for size in options.sizes:
        with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
            _build_apart(folder, size, options.user)
            with session(folder, options.way) as own:
                found, bare = measure(folder, size, options.runs, options.way)
                if options.prompts and not (options.load or options.sessions):
                    mixes.append(measured(folder, size, options.prompts))
                told = own.told() if found or mixes else ""
            if options.load:
                broken += compared(folder, size, options.prompts, options.load, options.way)
            if options.sessions:
                side_by_side(folder, size, options.prompts, options.sessions, options.way)
        rows += found
        bare_ms.append(quantile([sample.seconds for sample in bare], 0.5) * 1000 if bare else 0)
        if not options.json:
            if found:
                print_table(found, size, options.user, bare)
            if mixes:
                broken += [f"the mix at {size:,}: {what}" for what in print_mix(mixes[-1])]
            if told:
                print(told)
    if options.json:
        print(json.dumps(_report(rows, bare_ms, mixes, options), indent=1))
    broken += [f"{r.row} at {r.observations:,}: {r.broken}" for r in rows if r.broken]
    for what in broken if not options.json else []:
        print(f"broken: {what}")
    return 1 if broken and options.check else 0


def _build_apart(folder: str, size: int, user: int) -> None:
    """Build the stores in a child: what that needed would count as the memory of every hook."""
    command = [sys.executable, os.path.abspath(__file__), "--build", folder]
    subprocess.run([*command, "--sizes", str(size), "--user", str(user)], check=True)


def measure(folder: str, size: int, runs: int, way: str = COLD) -> tuple[list[Row], list[Sample]]:
    """The rows for one size of memory, and the bare starts between them."""
    bare_command = [interpreter(), "-I", "-S", "-c", "pass"]
    environ = environ_of(folder)
    bare: list[Sample] = []
    samples: dict[str, tuple[Step, list[tuple[int, Sample]]]] = {}
    for run in range(-1, runs) if runs else ():  # run -1 warms caches and counts for nothing
        for step in steps(folder, f"bench-{run}", run, size):
            bare_sample = timed(bare_command, environ, b"", folder)
            named = {**environ, **step.variables}
            if step.rules is not None:
                bind(folder, step.rules)
            sample = timed(command_of(step), named, json.dumps(step.event).encode(), folder)
            if run >= 0:
                samples.setdefault(step.row, (step, []))[1].append((len(bare), sample))
                bare.append(bare_sample)
        time.sleep(AFTER_SESSION_S)
    if way == WARM:
        samples = {
            row: (step._replace(budget=_warm_budget(step, size)), found)
            for row, (step, found) in samples.items()
        }
    return [_row(step, found, size, bare) for step, found in samples.values()], bare


def _warm_budget(step: Step, size: int) -> float:
    if step.row == "UserPromptSubmit" and size > PROMPT_BUDGETS[1][0]:
        return WARM_MILLION_BUDGET
    return WARM_BUDGETS.get(step.row, step.budget)


def steps(folder: str, name: str, run: int, size: int) -> Iterator[Step]:
    """The hooks of one session in the order in which the client runs them."""
    project = os.path.join(folder, "project")
    transcript = os.path.join(folder, "home", ".claude", "projects", "-project", f"{name}.jsonl")
    os.makedirs(os.path.dirname(transcript), exist_ok=True)
    base = {"session_id": name, "cwd": project, "transcript_path": transcript}
    prompt_budget = next((b for most, b in PROMPT_BUDGETS if size <= most), PROMPT_BUDGETS[-1][1])
    subject, thing = SUBJECTS[run % len(SUBJECTS)], THINGS[run % len(THINGS)]
    question = f"How does the {subject} service handle {thing} for large tenants?"
    decision = f"We decided to use {thing} for {subject} number {run} because it is simpler."
    kind = "database-engineer"
    task = {"subagent_type": kind, "prompt": question, "description": "look"}
    agent: dict[str, Any] = {"agent_id": f"a{run}", "agent_type": kind}

    def step(row: str, budget: float, recalls: bool = False, **fields: Any) -> Step:
        event = row.partition(" ")[0]
        return Step(row, {**base, "hook_event_name": event, **fields}, budget, recalls)

    yield step("SessionStart startup", SESSION_BUDGET, source="startup")
    yield step("UserPromptSubmit", prompt_budget, recalls=size > 0, prompt=question)
    yield step("UserPromptSubmit nothing known", prompt_budget, prompt=UNKNOWN)
    yield step("UserPromptSubmit with cue", prompt_budget + CUE_EXTRA, prompt=decision)
    call: dict[str, Any] = {"tool_name": "Task", "tool_use_id": f"t{run}", "tool_input": task}
    yield step("PreToolUse Task", prompt_budget, **call)
    yield step("SubagentStart", prompt_budget, recalls=size > 0, **agent)
    call["tool_use_id"], call["tool_input"] = f"u{run}", {**task, "prompt": UNKNOWN}
    yield step("PreToolUse Task", prompt_budget, **call)
    # Its task says nothing to memory, so that its kind is searched for as well.
    other = {"agent_id": f"b{run}", "agent_type": kind}
    yield step("SubagentStart task unknown", prompt_budget, recalls=size > 0, **other)
    call = {"tool_name": OUR_TOOL, "tool_use_id": f"v{run}", "tool_input": {"query": question}}
    yield step("PreToolUse our tool", prompt_budget, **call, **agent)
    yield step("SubagentStop", WRITER_BUDGET, last_assistant_message=f"Done. {decision}", **agent)
    yield step("PostToolUse bridge", WRITER_BUDGET, **_bridged(run))
    yield from _commands(step, run, os.path.join(folder, NO_FIXES))
    _write_transcript(transcript, run, decision)
    yield step("Stop", WRITER_BUDGET, last_assistant_message=f"I changed {subject}. All pass.")
    _write_transcript(transcript, -run - 3, decision.replace("number", "case"), after=True)
    _look_read(folder, name, READ_BEFORE_BYTES)
    yield step(LONG_STOP, WRITER_BUDGET, last_assistant_message="That is all. All pass.")
    yield step("PreCompact", WRITER_BUDGET, trigger="auto", custom_instructions=None)
    yield step("SessionStart compact", SESSION_BUDGET, source="compact")
    summary = f"<analysis>a</analysis>\n<summary>\n{decision}\n</summary>"
    yield step("PostCompact", WRITER_BUDGET, trigger="auto", compact_summary=summary)
    given = {"session_id": name, "cwd": project, "workspace": {"project_dir": project}}
    yield Step(STATUS_LINE, given, STATUS_LINE_BUDGET)
    yield step("SessionEnd", WRITER_BUDGET, reason="other")
    yield from _bound(step, run)
    # The last one: it leaves a process behind, which finds that nobody listens there.
    said = f"I looked at {thing}. Nothing is left."
    forwarded = step("Stop forwarded", WRITER_BUDGET, last_assistant_message=said)
    yield forwarded._replace(variables={"MEMORY_FABRIC_FORWARD_URL": NOBODY})


def _bound(step: Callable[..., Step], run: int) -> Iterator[Step]:
    """Commands where the project has no bound rule, rules about others, and one about it."""
    for row, budget, command, rules in (
        ("PreToolUse Bash, no rule", LEAVING_BUDGET, "npm test", False),
        ("PreToolUse Bash, other rules", RULES_BUDGET, "cd app && npm test | tail -5", True),
        ("PreToolUse Bash, a rule is told", RULES_BUDGET, "cd app && npm run dev &", True),
    ):
        call = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": f"w{run}"}
        yield step(row, budget, **call)._replace(rules=rules)


def _commands(step: Callable[..., Step], run: int, elsewhere: str) -> Iterator[Step]:
    """Commands that fail and pass where fixes are on record, and one in a project without any."""
    call = {"tool_name": "Bash", "tool_use_id": f"c{run}", "tool_input": {"command": "make check"}}
    error = (
        f"Exit code 2\n{error_of(run % FIXES)}\nmake: *** [check] Error 1\n" + "ran a step\n" * 200
    )
    failed = {**call, "error": error, "is_interrupt": False}
    yield step("PostToolUseFailure with a fix", FIX_BUDGET, True, **failed)
    unknown = {**failed, "error": "Exit code 2\nsomething else broke\n" + "ran a step\n" * 200}
    yield step("PostToolUseFailure unknown", FIX_BUDGET, **unknown)
    passed = {**call, "tool_response": {"stdout": "ran a step\n" * 200, "stderr": ""}}
    yield step("PostToolUse command passed", FIX_BUDGET, **passed)
    there = {"CLAUDE_PROJECT_DIR": elsewhere}
    yield step("PostToolUseFailure no fixes", NO_FIX_BUDGET, **failed)._replace(variables=there)


def command_of(step: Step) -> list[str]:
    """The command of hooks.json for the step's event, or the one of the status line."""
    if step.row == STATUS_LINE:
        return [os.path.join(ROOT, "bin", "memory-fabric"), STATUS_LINE]
    with open(os.path.join(ROOT, "hooks.json"), encoding="utf-8") as file:
        groups = json.load(file)["hooks"][step.event["hook_event_name"]]
    tool = str(step.event.get("tool_name", ""))
    hook = next(g for g in groups if re.search(g.get("matcher", ""), tool))["hooks"][0]
    words = [hook["command"], *hook["args"]]
    return [word.replace("${CLAUDE_PLUGIN_ROOT}", ROOT) for word in words]


def print_table(rows: Sequence[Row], size: int, user: int, bare: Sequence[Sample]) -> None:
    """One table for one size of memory."""
    print(f"\n{size:,} observations in the project, {user:,} in the user database")
    median, p95 = (quantile([s.seconds for s in bare], q) * 1000 for q in (0.5, 0.95))
    print(f"bare start: median {median:.1f} ms, p95 {p95:.1f} ms ({interpreter()} -I -S -c pass)")
    if p95 > NOISY * median:
        print("the machine was busy: compare the column cpu")
    print(f"\n{'':32}{'milliseconds':>16}{'bare starts':>32}")
    print(
        f"{'event':32}{'median':>8}{'p95':>8}{'median':>8}{'p95':>8}{'cpu':>8}{'budget':>8}{'MB':>7}"
    )
    for row in rows:
        mark = "  ← broken" if row.broken else ""
        print(
            f"{row.row:32}{row.median_ms:8.1f}{row.p95_ms:8.1f}{row.median:8.1f}{row.p95:8.1f}"
            f"{row.cpu:8.1f}{row.budget:8g}{row.memory_mb:7.1f}{mark}"
        )


def _row(
    step: Step, placed: Sequence[tuple[int, Sample]], size: int, bare: Sequence[Sample]
) -> Row:
    """The row of a step; each sample comes with the place of the bare start just before it."""
    samples = [sample for _, sample in placed]
    memory_mb = max(sample.memory_mb for sample in samples)
    starts, cpu = [], []
    for place, sample in placed:
        around = bare[max(0, place - AROUND) : place + AROUND + 1]
        starts.append(sample.seconds / quantile([b.seconds for b in around], 0.5))
        cpu.append(sample.cpu_seconds / quantile([b.cpu_seconds for b in around], 0.5))
    median = quantile(starts, 0.5)
    broken = []
    if median > step.budget:
        broken.append(f"{median:.1f} bare starts, budget {step.budget:g}")
    if memory_mb > MAX_MEMORY_MB:
        broken.append(f"{memory_mb:.0f} MB, budget {MAX_MEMORY_MB:g}")
    silent = sum(b"additionalContext" not in sample.output for sample in samples)
    if step.recalls and silent:  # its own deadline ended it early, so the times are too good
        broken.append(f"recalled nothing in {silent} of {len(samples)}")
    return Row(
        row=step.row,
        observations=size,
        median=median,
        p95=quantile(starts, 0.95),
        cpu=quantile(cpu, 0.5),
        median_ms=quantile([sample.seconds for sample in samples], 0.5) * 1000,
        p95_ms=quantile([sample.seconds for sample in samples], 0.95) * 1000,
        memory_mb=memory_mb,
        budget=step.budget,
        broken="; ".join(broken),
    )


def _report(
    rows: Sequence[Row],
    bare_ms: Sequence[float],
    mixes: Sequence[Mix],
    options: argparse.Namespace,
) -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "python": platform.python_version(),
        "way": options.way,
        "runs": options.runs,
        "user_observations": options.user,
        "bare_start_ms": dict(zip(options.sizes, bare_ms, strict=True)),
        "rows": [row._asdict() for row in rows],
        "mixes": [report(found) for found in mixes],
    }


def _bridged(run: int) -> dict[str, Any]:
    entity = {"name": f"bridged-{run}", "entityType": "tool", "observations": ["seen elsewhere"]}
    return {
        "tool_name": "mcp__other__create_entities",
        "tool_use_id": f"b{run}",
        "tool_input": {"entities": [entity]},
        "tool_response": json.dumps({"entities": [entity]}),
        "mcp_server": {"name": "other", "source": "project"},
    }


def _look_read(folder: str, name: str, offset: int) -> None:
    """Let the session's transcript be read up to there."""
    (path,) = glob.glob(os.path.join(folder, "home", "memory", "projects", "*", "graph.db"))
    database = sqlite3.connect(path)
    with database:
        values = (offset, name)
        database.execute("UPDATE sessions SET offset = ?, block = '' WHERE id = ?", values)
    database.close()


def _write_transcript(path: str, run: int, decision: str, *, after: bool = False) -> None:
    """Twenty turns; `after` what was read before."""
    with open(path, "w", encoding="utf-8") as file:
        if after:
            line = json.dumps({"type": "api-request-blob", "pad": "x" * 4000}) + "\n"
            for _ in range(READ_BEFORE_BYTES // len(line)):
                file.write(line)
            file.write(" " * (READ_BEFORE_BYTES - file.tell() - 1) + "\n")
        for turn in range(TURNS_PER_STOP):
            role = "assistant" if turn % 2 else "user"
            text = decision if turn == 0 else f"Turn {turn} of {run}: looked at {THINGS[turn]}."
            content = [{"type": "text", "text": text}] if turn % 2 else text
            entry = {
                "type": role,
                "uuid": f"00000000-0000-4000-8000-{run % 999983:06d}{turn:06d}",
                "timestamp": f"2026-01-15T{run % 24:02d}:{turn:02d}:00.{run % 997:03d}Z",
                "message": {"role": role, "content": content},
            }
            file.write(json.dumps(entry) + "\n")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[0, 1_000, 10_000])
    parser.add_argument("--million", action="store_true", help="only a store of 1,000,000")
    parser.add_argument("--way", choices=(COLD, WARM), default=COLD)
    parser.add_argument("--user", type=int, default=1_000, help="observations of the user")
    parser.add_argument("--runs", type=int, default=21, help="sessions that are measured")
    parser.add_argument("--prompts", type=int, default=0, help="prompts of the mix; 0: no mix")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside the mix")
    parser.add_argument("--sessions", type=int, default=0, help="sessions with prompts at a time")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true", help="fail when a budget is broken")
    parser.add_argument("--build", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if (options.load or options.sessions) and not options.prompts:
        parser.error("--load and --sessions need --prompts")
    if options.million:
        options.sizes = [1_000_000]
    return options


if __name__ == "__main__":
    sys.exit(main())
