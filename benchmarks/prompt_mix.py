"""The cost of a mix of prompts (`prompt_forms`) through the real hook, and its answers under load.

`hooks.py --prompts N` prints what `measured` finds: bare starts over the whole mix and for each
form, how often capture's gate opens, what that costs, and what it says. Capture's part of a
prompt's cost is the difference to the same prompt where nothing may be captured (`CI`); the gate's
part is what that difference is more where it opens. `hooks.py --load N` answers the mix twice,
alone and beside N busy processes (`compared`), `hooks.py --sessions N` in N sessions at a time
(`side_by_side`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from processes import Sample, interpreter, quantile, timed
from ways import WARM, handed, notes, session
from workloads.hooks_store import PLUGIN, ROOT, environ_of
from workloads.prompt_forms import FORMS, Prompt, entities_of, mix

# Budgets in bare starts, and in shares.
MEDIAN, P95, OPENS, EXTRA, ANSWERED = 4.5, 7.0, 0.15, 1.5, 0.95
PROMPTS_PER_SESSION = 6
# Bare starts around a prompt that it is compared with.
AROUND = 3
NOTHING_CAPTURED = {"CI": "true"}
ID = re.compile(r"\[[0-9a-zA-Z:-]{4,40}\]")
BUSY = [sys.executable, "-c", "while True: pass"]


class Answered(NamedTuple):
    """A prompt with its costs in bare starts, on the wall and on the processor, and its answer.

    `ms` is the time on the wall, `bare_ms` that of the bare starts around it.
    """

    prompt: Prompt
    wall: float
    cpu: float
    told: str
    ms: float
    bare_ms: float


class Heard(NamedTuple):
    """The parts of capture that a prompt reaches: its gate, a cue, a record of what is stated."""

    opens: bool
    cue: bool
    states: bool


class Mix(NamedTuple):
    """The answers to a mix, those where nothing may be captured, and what capture hears in it."""

    answers: list[Answered]
    without: list[Answered]
    heard: list[Heard]


def measured(folder: str, size: int, count: int, seed: str = "mix") -> Mix:
    """The mix over the store of `size` observations in `folder`."""
    prompts = mix(count, seed=seed, entities=entities_of(size))
    answered(folder, prompts[:PROMPTS_PER_SESSION], "warm")
    without = answered(folder, prompts, "without", NOTHING_CAPTURED)
    answers = answered(folder, prompts, "mix")
    return Mix(answers, without, [_heard(prompt.text) for prompt in prompts])


def answered(
    folder: str, prompts: Sequence[Prompt], name: str, variables: Mapping[str, str] = {}
) -> list[Answered]:
    """The prompts in sessions of a few, each begun as the client begins one."""
    environ = {**environ_of(folder), **variables}
    streams = os.path.join(folder, f"streams-{name}")  # others may run beside it
    os.makedirs(streams, exist_ok=True)
    bare_command = [interpreter(), "-I", "-S", "-c", "pass"]
    bare: list[Sample] = []
    samples: list[Sample] = []
    for number, prompt in enumerate(prompts):
        event: dict[str, Any] = {
            "session_id": f"{name}-{number // PROMPTS_PER_SESSION}",
            "cwd": os.path.join(folder, "project"),
            "transcript_path": os.path.join(folder, f"{name}.jsonl"),
        }
        if number % PROMPTS_PER_SESSION == 0:
            _hook(streams, environ, {**event, "source": "startup"}, "SessionStart")
        bare.append(timed(bare_command, environ, b"", streams))
        typed = {**event, "prompt": prompt.text}
        samples.append(_hook(streams, environ, typed, "UserPromptSubmit"))
    found = []
    for place, (prompt, sample) in enumerate(zip(prompts, samples, strict=True)):
        around = bare[max(0, place - AROUND) : place + AROUND + 1]
        bare_s = quantile([one.seconds for one in around], 0.5)
        wall = sample.seconds / bare_s
        cpu = sample.cpu_seconds / quantile([one.cpu_seconds for one in around], 0.5)
        told, ms, bare_ms = _told(sample.output), sample.seconds * 1000, bare_s * 1000
        found.append(Answered(prompt, wall, cpu, told, ms, bare_ms))
    return found


def timing(answers: Sequence[Answered]) -> str:
    """The times of prompts in milliseconds, and in bare starts beside them."""
    (median, p95), (starts, p95_starts) = (
        (quantile(values, 0.5), quantile(values, 0.95))
        for values in ([one.ms for one in answers], [one.wall for one in answers])
    )
    bare = quantile([one.bare_ms for one in answers], 0.5)
    return (
        f"median {median:.1f} ms, p95 {p95:.1f} ms; "
        f"{starts:.1f} and {p95_starts:.1f} bare starts of {bare:.1f} ms"
    )


def print_mix(found: Mix) -> list[str]:
    """Print the table of a mix; return the budgets that it breaks."""
    walls, cpus = [a.wall for a in found.answers], [a.cpu for a in found.answers]
    median, p95 = quantile(walls, 0.5), quantile(walls, 0.95)
    print(f"\na mix of {len(walls)} prompts: {timing(found.answers)}")
    print(f"{'in bare starts':32}{'share':>8}{'median':>8}{'p95':>8}{'cpu':>8}{'cpu p95':>9}")
    row = f"{median:8.1f}{p95:8.1f}{quantile(cpus, 0.5):8.1f}{quantile(cpus, 0.95):9.1f}"
    print(f"{'all':32}{'':8}{row}")
    for form, _, _ in FORMS:
        own = [a for a in found.answers if a.prompt.form == form]
        if own:
            wall, cpu = [a.wall for a in own], [a.cpu for a in own]
            row = (
                f"{len(own) / len(walls):8.0%}{quantile(wall, 0.5):8.1f}{quantile(wall, 0.95):8.1f}"
            )
            print(f"{form:32}{row}{quantile(cpu, 0.5):8.1f}{quantile(cpu, 0.95):9.1f}")
    opens, extra = _share(found, "opens"), gate_cost(found)
    idle = sum(one.opens and not (one.cue or one.states) for one in found.heard) / len(walls)
    print(f"capture's gate opens on {opens:.0%}, on {idle:.0%} for nothing: {extra:+.1f} of cpu")
    print(f"cues beside {_share(found, 'cue'):.0%}, records of {_share(found, 'states'):.0%}")
    limits = (
        ("median", median, MEDIAN),
        ("p95", p95, P95),
        ("gate opens for nothing", idle, OPENS),
        ("cost of the gate", extra, EXTRA),
    )
    return [f"{what} {value:.2f}, budget {most:g}" for what, value, most in limits if value > most]


def gate_cost(found: Mix) -> float:
    """The median of capture's cost where its gate opens, less that where it stays closed."""
    costs: dict[bool, list[float]] = {True: [], False: []}
    for one, other, heard in zip(found.answers, found.without, found.heard, strict=True):
        costs[heard.opens].append(one.cpu - other.cpu)
    if not (costs[True] and costs[False]):
        return 0.0
    return quantile(costs[True], 0.5) - quantile(costs[False], 0.5)


def report(found: Mix) -> dict[str, Any]:
    """The figures of a mix as JSON."""
    walls, cpus = [a.wall for a in found.answers], [a.cpu for a in found.answers]
    return {
        "prompts": len(walls),
        "median_ms": quantile([one.ms for one in found.answers], 0.5),
        "p95_ms": quantile([one.ms for one in found.answers], 0.95),
        "median": quantile(walls, 0.5),
        "p95": quantile(walls, 0.95),
        "cpu": quantile(cpus, 0.5),
        "cpu_p95": quantile(cpus, 0.95),
        "gate_opens": _share(found, "opens"),
        "cues": _share(found, "cue"),
        "records": _share(found, "states"),
        "gate_cost": gate_cost(found),
    }


def compared(folder: str, size: int, count: int, load: int, way: str) -> list[str]:
    """Print how many prompts are answered beside `load` busy processes as alone; broken budgets."""
    prompts = mix(count, entities=entities_of(size))
    kept = os.path.join(folder, "kept")
    shutil.copytree(os.path.join(folder, "home"), kept)
    with session(folder, way) as own:
        alone = answered(folder, prompts, "load")
        print(f"\nalone: {timing(alone)}\n{own.told()}")
    shutil.rmtree(os.path.join(folder, "home"))
    shutil.move(kept, os.path.join(folder, "home"))
    before = _late(folder)
    with session(folder, way) as own, busy(load):
        beside = answered(folder, prompts, "load")
        print(f"beside {load} busy processes: {timing(beside)}\n{own.told()}")
    same = sum(one.told == other.told for one, other in zip(alone, beside, strict=True))
    wanted = sum(bool(one.told) for one in alone)
    silent = sum(bool(o.told) and not b.told for o, b in zip(alone, beside, strict=True))
    print(
        f"{same} of {len(prompts)} prompts are answered as alone "
        f"({wanted} are told something); {silent} are told nothing then, "
        f"{_late(folder) - before} are counted as out of time"
    )
    share = same / len(prompts)
    return [] if share >= ANSWERED else [f"answered as alone {share:.2f}, wanted {ANSWERED:g}"]


@contextmanager
def busy(count: int) -> Iterator[None]:
    """A block beside so many processes that do nothing but compute."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        started += (subprocess.Popen(BUSY) for _ in range(count))
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def side_by_side(folder: str, size: int, count: int, sessions: int, way: str) -> None:
    """Print the cost of prompts in so many sessions at a time, each with a client of its own."""
    command = [sys.executable, os.path.abspath(__file__), folder, str(size), str(count), way]
    clients = [
        subprocess.Popen(
            [*command, f"side-{number}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for number in range(sessions)
    ]
    for client in clients:  # each is ready, its server warm
        assert client.stdout is not None and client.stdout.readline()
    before = notes(folder)
    for client in clients:
        assert client.stdin is not None
        client.stdin.write(b"begin\n")
        client.stdin.flush()
    answers: list[Answered] = []
    servers_mb = []
    for client in clients:
        output, _ = client.communicate()
        if client.returncode:
            raise SystemExit(f"a session ended with exit status {client.returncode}")
        found = json.loads(output)
        answers += [Answered(Prompt(*one[0]), *one[1:]) for one in found["answers"]]
        servers_mb.append(found["server_mb"])
    print(f"\n{sessions} sessions side by side, {count} prompts each: {timing(answers)}")
    if way == WARM:
        print(f"{handed(before, notes(folder))}; all servers: {sum(servers_mb):.0f} MB PSS")


def client(folder: str, size: int, count: int, way: str, name: str) -> None:
    """One session of `side_by_side`: answers its prompts when told to, and prints them."""
    with session(folder, way) as own:
        print("ready", flush=True)
        sys.stdin.readline()
        prompts = mix(count, seed=name, entities=entities_of(size))
        answers = answered(folder, prompts, name)
        print(json.dumps({"answers": answers, "server_mb": own.server_mb}))


def _hook(streams: str, environ: Mapping[str, str], event: dict[str, Any], name: str) -> Sample:
    data = json.dumps({**event, "hook_event_name": name}).encode()
    return timed([os.path.join(ROOT, "hooks", "launch")], environ, data, streams)


def _told(output: bytes) -> str:
    """The context that an answer gives, without ids, which a new record has its own of."""
    if not output:
        return ""
    specific = json.loads(output).get("hookSpecificOutput") or {}
    return ID.sub("[id]", specific.get("additionalContext", ""))


def _heard(text: str) -> Heard:
    sys.path.insert(0, PLUGIN)
    from memory_fabric.capture.cues import may_hear
    from memory_fabric.capture.prompts import heard, stated

    return Heard(may_hear(text), heard(text) is not None, bool(stated(text)))


def _share(found: Mix, what: str) -> float:
    return sum(bool(getattr(one, what)) for one in found.heard) / len(found.heard)


def _late(folder: str) -> int:
    """The number of prompts that the log says ran out of time."""
    sys.path.insert(0, PLUGIN)
    from memory_fabric.store.home.log import late_events

    return late_events([os.path.join(folder, "home", "memory", "logs")]).get("UserPromptSubmit", 0)


if __name__ == "__main__":
    client(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
