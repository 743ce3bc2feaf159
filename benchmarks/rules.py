"""Standing rules that change: is a new session told the current one, and not the one it replaced?

    python3 benchmarks/rules.py --data FILE                        both with notes and without
    python3 benchmarks/rules.py --data FILE --runs with --sizes 5,10 --dialogues 12 --jobs 2

FILE is MemoryCode (for-ai, Apache 2.0) as JSON, gzipped or not: `{"rules": [{"id", "text": [wording
after wording], "eval_query"}], "conversations": [{"id", "mentor", "sessions": [{"text", "type",
"topic"}]}]}`. Each line of the mentor is a prompt, each session a session; afterwards a new session
asks "Write a <task>." for each rule that holds. Told is what stands in MEMORY.md, in the session's
block or with that prompt, line by line.

Without notes the assistant only agrees. With notes a simple stand-in notes each rule at the line
that states it: the rule's own wording, `From:` that line's sentence, and `Instead of:` the id of
the rule before, if this session was told it, or its words, if MEMORY.md has them. It understands
all and forgets nothing: an upper bound for the writer, not for the machinery.

A replaced rule counts only when it is told as current: not after "instead of", not marked as
superseded, and not on a line that says another rule that holds at least as well. Dialogues whose
rules are too long for a session's block are reported apart (`--block-chars`).
Needs Python >= 3.11 and git.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from replays.figures import Share
from replays.hooks import ROOT, Hooks, installed_clock
from replays.replay import memory_md, rows, with_lines
from replays.told import Ids, Unresolved, covered, folded, words_of

sys.path.insert(0, os.path.join(ROOT, "plugin"))
from memory_fabric.recall.session_block import SESSION_CHARS
from memory_fabric.text import stem

# A record's line besides its sentence: type, date, id.
LINE_CHARS = 40
STATED = ("instruction-add", "instruction-update")
COMMON = set("always never use in your the a an for not to even if it is of and do all".split())
# Rules of many subjects differ in this word alone; a line without it tells none of them.
SUBJECTS = {stem(word) for word in "function variable method attribute argument class".split()}
REPLACED = re.compile(r"superseded|replaced by|no longer holds", re.IGNORECASE)
NOT_CURRENT = re.compile(r"\b(?:instead of|rather than|replaces)\b.*", re.IGNORECASE)
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
# So many words make a quotation.
QUOTED_WORDS = 4
DAY_S = 86_400
AGREED = {"type": "text", "text": "I will."}
RUNS = {"with": "with notes", "without": "without notes"}

Dialogue = Mapping[str, Any]


class Rules(NamedTuple):
    """The rules that hold at the end of a dialogue by their number, and those replaced."""

    current: dict[int, str]
    replaced: dict[int, set[str]]


def main(argv: Sequence[str] | None = None) -> int:
    """Print what new sessions were told, for dialogues whose rules fit the block and for others."""
    options = _options(argv)
    with open(options.data, "rb") as stream:
        raw = stream.read()
    data = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    chosen = chosen_dialogues(data["conversations"], options.sizes, options.dialogues)
    if not options.clock:
        print("clock: the machine's own; with libfaketime installed, a day for each session")
    for name in RUNS if options.runs == "both" else (options.runs,):
        began = time.monotonic()
        run = partial(figures_of, rules=data["rules"], noted=name == "with", options=options)
        with ThreadPoolExecutor(options.jobs) as pool:
            done = list(pool.map(run, chosen))
        print(f"{RUNS[name]}: {len(chosen)} dialogues in {time.monotonic() - began:.0f} s")
        for group, title in ((True, "rules fit the block"), (False, "rules exceed the block")):
            found = [counts for fits, counts in done if fits is group]
            print_group(title, found)
    return 0


def chosen_dialogues(found: Sequence[Dialogue], sizes: str, most: int) -> list[Dialogue]:
    """Return dialogues of these numbers of sessions, at most so many (0: all), short ones first."""
    wanted = {int(size) for size in sizes.split(",")} if sizes else set()
    mine = [one for one in found if not wanted or len(one["sessions"]) in wanted]
    mine.sort(key=lambda one: len(one["sessions"]))
    return mine[:: max(1, len(mine) // most)][:most] if most else mine


def print_group(title: str, found: Sequence[Counter[str]]) -> None:
    """Print the counts of some dialogues, added up."""
    total = sum(found, Counter[str]())
    print(f"  {title}: {len(found)} dialogues")
    for name, whole in (
        ("current rule told at the start", "rules"),
        ("current rule told", "rules"),
        ("changed: current told", "changed"),
        ("changed: replaced told as current", "changed"),
        ("rules noted", "stated"),
    ):
        if total[whole]:
            print(f"    {name:<36}{Share(total[name], total[whole])}")


def figures_of(
    dialogue: Dialogue,
    rules: Sequence[Mapping[str, Any]],
    noted: bool,
    options: argparse.Namespace,
) -> tuple[bool, Counter[str]]:
    """Replay a dialogue; return True if its rules fit the block, and what was told."""
    with tempfile.TemporaryDirectory(prefix="memory-fabric-bench-") as folder:
        hooks = Hooks(folder, f"dialogue{dialogue['id']}", options.plugin, options.clock)
        hooks.now_s = time.time() - DAY_S * (len(dialogue["sessions"]) + 1)
        talk = Talk(hooks, dialogue, rules, noted)
        for number in range(len(dialogue["sessions"])):
            talk.session(number)
        counts = talk.counts + asked(hooks, talk.held, rules)
    size = sum(len(text) + LINE_CHARS for text in talk.held.current.values())
    return size <= options.block_chars, counts


def asked(hooks: Hooks, held: Rules, rules: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """Return what a new session is told of the rules that hold, and of those they replaced."""
    counts: Counter[str] = Counter()
    task_of = {rule["id"]: rule["eval_query"] for rule in rules}
    hooks.start("asked")
    hooks.now_s += DAY_S
    start = f"{memory_md(hooks)}\n{hooks.fire('SessionStart', source='startup').context}"
    for rule, text in held.current.items():
        hooks.start(f"asked-{rule}")
        prompt = f"Write a {task_of[rule]}."
        both = f"{start}\n{hooks.fire('UserPromptSubmit', prompt=prompt).context}"
        others = [one for number, one in held.current.items() if number != rule]
        counts["rules"] += 1
        counts["current rule told at the start"] += is_told(start, text)
        counts["current rule told"] += is_told(both, text)
        if held.replaced[rule]:
            counts["changed"] += 1
            counts["changed: current told"] += is_told(both, text)
            old = held.replaced[rule]
            told = any(is_told_as_current(both, one, [text, *others]) for one in old)
            counts["changed: replaced told as current"] += told
    return counts


class Talk:
    """A dialogue with the assistant that agrees to everything, and notes it or not."""

    def __init__(
        self,
        hooks: Hooks,
        dialogue: Dialogue,
        rules: Sequence[Mapping[str, Any]],
        noted: bool,
    ) -> None:
        self._hooks, self._dialogue, self._noted = hooks, dialogue, noted
        self._rule_of = {text: rule["id"] for rule in rules for text in rule["text"]}
        self.held = Rules({}, {rule["id"]: set() for rule in rules})
        self.counts: Counter[str] = Counter()

    def session(self, number: int) -> None:
        """Replay a session through the hooks."""
        hooks, session = self._hooks, self._dialogue["sessions"][number]
        prompts = prompts_of(session["text"], self._dialogue["mentor"])
        stated = dict(self._stated(session, prompts))
        ids = Ids()
        hooks.start(f"dialogue{self._dialogue['id']}-{number}")
        hooks.now_s += DAY_S
        loaded = memory_md(hooks)
        self._hear(ids, hooks.fire("SessionStart", source="startup").context)
        for place, prompt in enumerate(prompts):
            self._hear(ids, hooks.fire("UserPromptSubmit", prompt=prompt).context)
            hooks.write("user", prompt, promptSource="typed")
            lines = [
                note(text, prompt, self._instead_of(text, ids, loaded))
                for text, at in stated.items()
                if at == place and self._noted
            ]
            last = hooks.answer(with_lines([AGREED], lines))
            hooks.fire("Stop", last_assistant_message=last)
            self.counts["rules noted"] += len(lines)
            for text in (text for text, at in stated.items() if at == place):
                self._hold(text)
        hooks.fire("SessionEnd")

    def _stated(
        self, session: Mapping[str, Any], prompts: Sequence[str]
    ) -> Iterator[tuple[str, int]]:
        """Yield the rules that a session states, each with the place of the prompt that does."""
        for kind, topic in zip(session["type"], session["topic"], strict=True):
            if kind not in STATED or topic not in self._rule_of:
                continue
            self.counts["stated"] += 1
            place = max(range(len(prompts)), key=lambda n: fit(prompts[n], topic), default=0)
            yield topic, place

    def _hold(self, text: str) -> None:
        rule = self._rule_of[text]
        before = self.held.current.get(rule, text)
        if before != text:
            self.held.replaced[rule].add(before)
        self.held.replaced[rule].discard(text)
        self.held.current[rule] = text

    def _instead_of(self, text: str, ids: Ids, loaded: str) -> str:
        before = self.held.current.get(self._rule_of[text], text)
        if before == text:
            return ""
        try:
            return ids.resolved(f"{{id:{before}}}")
        except Unresolved:
            return before if folded(before) in folded(loaded) else ""

    def _hear(self, ids: Ids, text: str) -> None:
        ids.know(row["id"] for row in rows(self._hooks, "SELECT id FROM records"))
        ids.hear(text)


def prompts_of(text: str, mentor: str) -> list[str]:
    """Return the mentor's lines."""
    spoken = (line for line in text.split("\n") if line.startswith(f"{mentor}:"))
    return [line.split(":", 1)[1].strip().strip('"') for line in spoken]


def note(text: str, prompt: str, instead_of: str) -> str:
    """Return the line that notes a rule in its own wording, with the sentence that states it."""
    instead = f" Instead of: {instead_of}." if instead_of else ""
    return f'Noted rule: {text[0].upper()}{text[1:]}.{instead} From: "{quotation(prompt, text)}"'


def quotation(prompt: str, text: str) -> str:
    """Return the sentence of the prompt that states a rule, or all of it if that is too short."""
    sentence = max(SENTENCE_END.split(prompt), key=lambda one: fit(one, text))
    return sentence.strip() if len(sentence.split()) >= QUOTED_WORDS else prompt


def fit(line: str, text: str) -> float:
    """Return how well a line states a rule: its words' share, 1 more for what it quotes."""
    return _share(line, text) + _quotes(line, text)


def is_told(told: str, text: str) -> bool:
    """Return True if a line has a rule's subject and what it quotes, else nearly all its words."""
    return any(_says(line, text) for line in told.splitlines())


def is_told_as_current(told: str, text: str, holding: Sequence[str]) -> bool:
    """Return True if a line says the rule as one that holds, and no holding rule as well."""
    for whole in told.splitlines():
        line = "" if REPLACED.search(whole) else NOT_CURRENT.sub("", whole)
        others = (one for one in holding if _says(line, one))
        if _says(line, text) and all(_share(line, one) < _share(line, text) for one in others):
            return True
    return False


def _says(line: str, text: str) -> bool:
    words, found = _stems(text) - COMMON, _stems(line)
    if not words & SUBJECTS <= found:
        return False
    if "'" in text:
        return _quotes(line, text)
    return len(words & found) >= max(min(2, len(words)), len(words) - 1)


def _quotes(line: str, text: str) -> bool:
    quoted = re.findall(r"'([^']+)'", text)
    return bool(quoted) and any(f"{a}{quoted[0]}{b}" in line for a, b in ("''", '""', "``", "“”"))


def _share(line: str, text: str) -> float:
    return covered(" ".join(_stems(text) - COMMON), _stems(line))


def _stems(text: str) -> set[str]:
    return {word if word in COMMON else stem(word) for word in words_of(text)}


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("--data", required=True, metavar="FILE", help="dialogues and their rules")
    add("--runs", choices=[*RUNS, "both"], default="both")
    add("--sizes", default="", help="only dialogues of so many sessions, e.g. 5,10")
    add("--dialogues", type=int, default=0, metavar="N", help="so many, spread over the sizes")
    add("--jobs", type=int, default=2, help="dialogues at a time")
    add("--block-chars", type=int, default=SESSION_CHARS, metavar="N", help="room for rules")
    add("--plugin", default=ROOT, metavar="DIR", help="another checkout of the plugin")
    add("--clock", default=installed_clock(), metavar="FILE", help="libfaketime, if elsewhere")
    options = parser.parse_args(argv)
    options.plugin = os.path.abspath(options.plugin)
    return options


if __name__ == "__main__":
    sys.exit(main())
