"""A year of work on five projects as a script: what is said in each session, and what then holds.

Projects and their first statements are those of notes of real conversations (`*notes.jsonl` of a
folder, in the form of replays/replay.py). They are continued with statements on invented parts of
the same projects, in frames with a value that changes later: with `Instead of:` or without, in the
same words or in others. Rules come and are lifted, open points are done, some things are said and
never noted. The script knows of each statement until when it holds; nothing depends on what memory
answers. The same seed makes the same year.
"""

from __future__ import annotations

import glob
import os
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from replays.replay import read_lines
from replays.told import folded

ASSISTANT, USER, STATED = "assistant", "user", "stated"
# The frames of statements: the kind of note, the sentence, the same in other words, the values.
_FRAMES = """
fact; The {} times out after {} seconds; Calls of the {} are given up when {} seconds have passed;
    5, 12, 30, 45, 90
fact; The {} listens on port {}; Port {1} is where the {0} answers; 4010, 5120, 6230, 7340, 8450
decision; The {} is kept in {}; We moved the {} over to {}; Redis, PostgreSQL, SQLite, Valkey
decision; The {} is deployed on {}; Production of the {} went to {}; Railway, Vercel, Hetzner
fact; The owner of the {} is {}; Questions on the {} go to {}; Ines, Tomas, Wanda, Oskar, Lucia
fact; The {} keeps {} days of history; History of the {} is dropped {} days on; 7, 14, 30, 60, 90
decision; The {} uses {} for tests; Tests of the {} are written with {}; Vitest, Jest, Mocha, Ava
fact; The page size of the {} is {}; One page of the {} shows {} rows; 20, 25, 50, 100, 200
fact; The {} runs every {} minutes; Between two runs of the {} lie {} minutes; 5, 10, 15, 30, 60
fact; Uploads to the {} are limited to {} MB; The {} refuses files above {} MB; 2, 5, 10, 25, 50
decision; The {} is released on {}; Release day of the {} is {}; Monday, Tuesday, Thursday, Friday
fact; The version of the {} is {}; The {} was raised to {}; 2.1, 3.0, 3.4, 4.0, 4.2
"""
# Rules, each with the sentence that lifts it.
_RULES = (
    ("Never change the {} without a test", "The {} may be changed without a test again"),
    ("Never log what the {} receives", "You may log what the {} receives again"),
    (
        "Always ask me before anything in the {} is deleted",
        "You need not ask me any more before anything in the {} is deleted",
    ),
    ("Never mock the {} in tests", "You may mock the {} in tests again"),
    (
        "Always commit the {} apart from other work",
        "The {} need not be committed apart from other work any more",
    ),
    ("Never add a package to the {}", "You may add a package to the {} again"),
    ("Never start the {} yourself because I run it", "You may start the {} yourself again"),
    ("Always show me the {} before you go on", "You may go on without showing me the {}"),
)
_HEARD = (
    "No, the {} must never wait for the {}.",
    "Please always check the {} by hand after a change of the {}.",
    "I don't want the {} to know anything about the {}.",
    "The {} should not be part of the {} any more.",
)
_WORK = (
    "Fix the layout of the {}.",
    "Why is the {} slow on my machine?",
    "Add a test for the {}.",
    "The {} is broken since yesterday, look what happened.",
    "Refactor the {} so that it is easier to read.",
    "Write the documentation of the {}.",
    "Connect the {} to the {}.",
)
_OPEN = ("The {} still fails when it is empty", "The {} has no translation yet")
_CAUSES = ("a stale lock", "a missing index", "a wrong time zone", "an expired token")
_PARTS = (
    "cache",
    "export",
    "form",
    "importer",
    "queue",
    "report",
    "worker",
    "list",
    "index",
    "log",
)
# Things of the projects whose notes are in benchmarks/histories; others get plain ones.
_THINGS = {
    "cozy-checkout": "booking guest invoice cottage receipt stay",
    "dialfa-sales": "article customer certificate delivery stock price",
    "focuslab": "newsletter landing contact consent visitor portfolio",
    "polychrome.p5": "canvas layer palette brush gamma sketch",
    "tnyOffice": "document comment automerge sync editor blame",
}
_PLAIN = "order account search calendar upload message"
_MEETING = ("We settled it in the call: ", "I checked it again: ", "My answer after the meeting: ")
_STATING = ("From now on ", "Decision: ")
_FIELD = re.compile(
    r"\s(Why|Instead of|When|For|Also|From): *(.*?)(?=\s(?:Why|Instead of|When|For|Also|From): |$)"
)
_PLACEHOLDER = re.compile(r"\[?\{id:“?([^{}”]*)”?\}\]?")
# The weights of what a turn is about.
_ACTS = {
    "work": 44,
    "new": 20,
    "change": 10,
    "repeat": 5,
    "rule": 4,
    "lift": 3,
    "heard": 5,
    "said again": 2,
    "open": 2,
    "done": 2,
    "fix": 3,
    "ask": 4,
    "subagent": 4,
    "rename": 2,
}
SHARE_NAMED, SHARE_REWORDED = 0.5, 0.15
_CLIENTS = {"claude-code": 60, "older claude-code": 18, "codex": 13, "gemini": 9}
DAY_S = 24 * 3600


@dataclass
class Statement:
    """A statement of a project, and until when it holds (seconds since 1970; 0: it holds).

    `ended` says how it ended; `machine` is where it was made; `lifting` is the sentence that lifts
    a rule; `quotation` are the user's words for it, if they are others; `after` is what holds then.
    """

    project: str
    kind: str
    text: str
    by: str
    since_s: float
    frame: int = -1
    thing: str = ""
    value: int = 0
    path: str = ""
    until_s: float = 0.0
    ended: str = ""
    machine: int = 0
    lifting: str = ""
    quotation: str = ""
    after: str = ""

    def __post_init__(self) -> None:
        self.forms = [folded(text) for text in (self.text, self.quotation) if text]

    def is_in(self, said: str) -> bool:
        """Return True if a folded text says this, or shows the words that were quoted for it."""
        return any(form in said for form in self.forms)

    def end(self, now_s: float, how: str, machine: int) -> None:
        """Let the statement no longer hold."""
        where = "" if machine == self.machine else ", on the other machine"
        self.until_s, self.ended = now_s, how + where

    @property
    def holds(self) -> bool:
        return not self.until_s


class Note(NamedTuple):
    """A line of the assistant; `closes` is the statement that it names as no longer true."""

    text: str
    closes: Statement | None = None


class Turn(NamedTuple):
    """A prompt, and the work and notes of the assistant after it.

    `forgets` is a statement that the user has memory forget; `command` fails, then passes after a
    change of `path`; `moves` are the old and the new path of a file; `by_subagent` is a subagent's
    note.
    """

    prompt: str
    notes: tuple[Note, ...] = ()
    forgets: Statement | None = None
    command: str = ""
    path: str = ""
    moves: tuple[str, str] = ("", "")
    by_subagent: str = ""


class Session(NamedTuple):
    """A session: its project, when it begins, on which machine (0, 1), by which client; it may be
    compacted, or broken off without an end.
    """

    number: int
    project: str
    at_s: float
    machine: int
    client: str
    turns: int
    is_compacted: bool
    is_broken_off: bool


class _Frame(NamedTuple):
    kind: str
    plain: str
    reworded: str
    values: tuple[str, ...]


def _frames() -> list[_Frame]:
    found = []
    for line in re.sub(r";\n +", "; ", _FRAMES.strip()).splitlines():
        kind, plain, reworded, values = (part.strip() for part in line.split(";"))
        found.append(_Frame(kind, plain, reworded, tuple(values.split(", "))))
    return found


FRAMES = _frames()


class Year:
    """The script; `statements` are all that were made so far."""

    def __init__(self, folder: str, count: int, start_s: float, seed: int) -> None:
        self._chance = random.Random(seed)
        self._start_s, self._count = start_s, count
        self._noted = _notes_of(folder)
        self._prompts = _prompts_of(folder)
        self.projects = list(self._noted)[:5]
        self.statements: list[Statement] = []
        self._machine = 0
        self._heard: dict[str, list[str]] = {project: [] for project in self.projects}
        self._files: dict[str, list[str]] = {project: [] for project in self.projects}

    def sessions(self) -> Iterator[Session]:
        """Yield the sessions in order of time, spread over a year."""
        step_s = 365 * DAY_S / self._count
        for number in range(self._count):
            project = self._chance.choice(self.projects)
            # The last two projects are worked on from two machines.
            is_second = project in self.projects[-2:] and self._chance.random() < 0.35
            client = self._chance.choices(list(_CLIENTS), list(_CLIENTS.values()))[0]
            yield Session(
                number,
                project,
                self._start_s + number * step_s + self._chance.uniform(0, step_s / 2),
                int(is_second),
                client,
                self._chance.randint(2, 6),
                self._chance.random() < 0.06,
                self._chance.random() < 0.04,
            )

    def turns(self, session: Session, now_s: Sequence[float]) -> Iterator[Turn]:
        """Yield what is said in a session; `now_s[0]` is the time, which the caller moves on."""
        self._machine = session.machine
        for _ in range(session.turns):
            act = self._chance.choices(list(_ACTS), list(_ACTS.values()))[0]
            yield self._turn(act, session.project, now_s[0])

    def add(self, statement: Statement) -> Statement:
        self.statements.append(statement)
        return statement

    def _turn(self, act: str, project: str, now_s: float) -> Turn:
        made = {
            "new": self._new,
            "change": self._change,
            "repeat": self._repeat,
            "rule": self._rule,
            "lift": self._lift,
            "heard": self._hear,
            "said again": self._say_again,
            "open": self._open,
            "done": self._done,
            "fix": self._fix,
            "ask": self._ask,
            "subagent": self._subagent,
            "rename": self._rename,
        }.get(act)
        turn = made(project, now_s) if made else None
        return turn or self._plain(project)

    def _thing(self, project: str) -> str:
        nouns = _THINGS.get(project.rpartition("/")[2], _PLAIN).split()
        return f"{self._chance.choice(nouns)} {self._chance.choice(_PARTS)}"

    def _two(self, template: str, project: str) -> str:
        return template.format(self._thing(project), self._thing(project))

    def _work(self, project: str) -> str:
        real = self._prompts.get(project)
        if real and self._chance.random() < 0.5:
            return self._chance.choice(real)
        return self._two(self._chance.choice(_WORK), project)

    def _plain(self, project: str) -> Turn:
        """Return a turn in which nothing is settled; every other one changes a file."""
        path = f"src/{self._thing(project).replace(' ', '_')}.ts"
        return Turn(self._work(project), path=path if self._chance.random() < 0.5 else "")

    def _held(self, project: str, *kinds: str, framed: bool = False) -> list[Statement]:
        return [
            s
            for s in self.statements
            if s.project == project
            and s.holds
            and (not kinds or s.kind in kinds)
            and (not framed or s.frame >= 0)
        ]

    def _new(self, project: str, now_s: float) -> Turn | None:
        if self._noted[project] and self._chance.random() < 0.35:
            return self._real(project, now_s)
        frame, thing = self._chance.randrange(len(FRAMES)), self._thing(project)
        if any(s.frame == frame and s.thing == thing for s in self._held(project)):
            return None
        kind, plain, _, values = FRAMES[frame]
        by = self._chance.choices((ASSISTANT, USER, STATED), (55, 32, 13))[0]
        text = plain.format(thing, values[0])
        path = self._path(project, thing)
        made = Statement(
            project, kind, text, by, now_s, frame, thing, 0, path, machine=self._machine
        )
        return self._told(self.add(made))

    def _path(self, project: str, thing: str) -> str:
        """Return the file of a thing for some statements, else ''."""
        if self._chance.random() < 0.75:
            return ""
        path = f"src/{thing.replace(' ', '_')}.ts"
        files = self._files[project]
        files += [] if path in files else [path]
        return path

    def _told(self, s: Statement, closes: Statement | None = None) -> Turn:
        """Return the turn in which a statement is made."""
        where = f" When: {s.path}." if s.path else ""
        if s.by == STATED:
            return Turn(f"{self._chance.choice(_STATING)}{_lowered(s.text)}.", path=s.path)
        if s.by == USER:
            prompt = f"{self._chance.choice(_MEETING)}{_lowered(s.text)}. Please adapt the code."
            line = f'Noted {s.kind}: {s.text}.{where} From: "{_lowered(s.text)}"'
            return Turn(prompt, (Note(line, closes),), path=s.path)
        line = f"Noted {s.kind}: {s.text}.{where}"
        return Turn(self._work(s.project), (Note(line, closes),), path=s.path)

    def _real(self, project: str, now_s: float) -> Turn:
        """Return the turn of a note of the real conversations, each of which is made once."""
        kind, text, why, when, quotation = self._noted[project].pop(0)
        by = USER if len(quotation.split()) >= 4 else ASSISTANT
        said = quotation if by == USER else ""
        self.add(Statement(project, kind, text, by, now_s, machine=self._machine, quotation=said))
        line = f"Noted {kind}: {text}."
        line += f" Why: {why}" if why else ""
        line += f" When: {when}" if when else ""
        line += f' From: "{quotation}"' if by == USER else ""
        prompt = quotation if by == USER else self._work(project)
        return Turn(prompt, (Note(line),))

    def _change(self, project: str, now_s: float) -> Turn | None:
        old = self._any(self._held(project, framed=True), now_s)
        if old is None or old.value + 1 >= len(FRAMES[old.frame].values):
            return None
        frame = FRAMES[old.frame]
        named = self._chance.random() < SHARE_NAMED
        is_reworded = not named and self._chance.random() < SHARE_REWORDED / (1 - SHARE_NAMED)
        was_reworded = old.text != frame.plain.format(old.thing, frame.values[old.value])
        form = frame.reworded if is_reworded else frame.plain
        text = form.format(old.thing, frame.values[old.value + 1])
        by = old.by if self._chance.random() < 0.7 else self._chance.choice((ASSISTANT, USER))
        how = "named" if named else "not named"
        how += ", in other words" if is_reworded or was_reworded else ""
        old.after = text
        old.end(now_s, f"replaced, {how}", self._machine)
        new = Statement(
            *(project, old.kind, text, by, now_s, old.frame, old.thing, old.value + 1, old.path),
            machine=self._machine,
        )
        return self._told(self.add(new), old if named else None)

    def _any(self, some: Sequence[Statement], now_s: float) -> Statement | None:
        """Return one that was not made in these hours."""
        older = [s for s in some if now_s - s.since_s > DAY_S / 2]
        return self._chance.choice(older) if older else None

    def _repeat(self, project: str, now_s: float) -> Turn | None:
        again = self._any(self._held(project, "fact", "decision"), now_s)
        if again is None:
            return None
        return Turn(self._work(project), (Note(f"Noted {again.kind}: {again.text}."),))

    def _rule(self, project: str, now_s: float) -> Turn | None:
        thing = self._thing(project)
        rule, lifting = (text.format(thing) for text in self._chance.choice(_RULES))
        if any(s.text == rule for s in self.statements):
            return None
        by = self._chance.choices((USER, STATED), (70, 30))[0]
        made = Statement(project, "rule", rule, by, now_s, machine=self._machine, lifting=lifting)
        return self._told(self.add(made))

    def _lift(self, project: str, now_s: float) -> Turn | None:
        """Lift a rule: by a note, by the user's own command, or by words that nobody notes."""
        old = self._any([s for s in self._held(project, "rule") if s.lifting], now_s)
        if old is None:
            return None
        ways = ("Instead of", "Dropped", "typed", "unnoted")
        way = self._chance.choices(ways, (40, 15, 20, 25))[0]
        old.end(now_s, f"lifted, {way}", self._machine)
        if way == "typed":
            return Turn("", forgets=old)
        if way == "unnoted":
            return Turn(f"{old.lifting}.")
        new = Statement(project, "rule", old.lifting, USER, now_s, machine=self._machine)
        turn = self._told(self.add(new), old if way == "Instead of" else None)
        return (
            turn._replace(notes=(*turn.notes, Note("Dropped: ID", old)))
            if way == "Dropped"
            else turn
        )

    def _hear(self, project: str, now_s: float) -> Turn:
        said = self._two(self._chance.choice(_HEARD), project)
        self._heard[project].append(said)
        return Turn(said)

    def _say_again(self, project: str, now_s: float) -> Turn | None:
        heard = self._heard[project]
        return Turn(self._chance.choice(heard[-20:])) if heard else None

    def _open(self, project: str, now_s: float) -> Turn | None:
        text = self._chance.choice(_OPEN).format(self._thing(project))
        if any(s.text == text for s in self.statements):
            return None
        return self._told(
            self.add(Statement(project, "open", text, ASSISTANT, now_s, machine=self._machine))
        )

    def _done(self, project: str, now_s: float) -> Turn | None:
        """Finish an open point; of three one without a word."""
        old = self._any(self._held(project, "open"), now_s)
        if old is None:
            return None
        is_noted = self._chance.random() < 0.67
        old.end(now_s, "done, noted" if is_noted else "done, unnoted", self._machine)
        return Turn(self._work(project), (Note("Dropped: ID", old),) if is_noted else ())

    def _fix(self, project: str, now_s: float) -> Turn | None:
        thing, cause = self._thing(project), self._chance.choice(_CAUSES)
        command = f"npm test -- {thing.replace(' ', '-')}"
        text = f'`{command}` failed with "{thing} is not ready" because of {cause}'
        if any(s.text == text for s in self.statements):
            return None
        self.add(Statement(project, "fix", text, ASSISTANT, now_s))
        path = f"src/{thing.replace(' ', '_')}.ts"
        note = Note(f"Noted fix: {text}. Why: confirmed by the passing run.")
        return Turn(f"The tests of the {thing} fail, find out why.", (note,), None, command, path)

    def _ask(self, project: str, now_s: float) -> Turn | None:
        about = self._any(self._held(project, framed=True), now_s)
        if about is None:
            return None
        frame = FRAMES[about.frame].plain.format(about.thing, "…").rstrip(" …")
        return Turn(f"What did we settle on this: {_lowered(frame)}?")

    def _subagent(self, project: str, now_s: float) -> Turn | None:
        found = self._new(project, now_s)
        if found is None or not found.notes or 'From: "' in found.notes[0].text:
            return found
        return Turn(found.prompt, by_subagent=found.notes[0].text)

    def _rename(self, project: str, now_s: float) -> Turn | None:
        files = self._files[project]
        if not files:
            return None
        place = self._chance.randrange(len(files))
        old = files[place]
        files[place] = f"src/moved/{len(files)}_{os.path.basename(old)}"
        return Turn(f"Move {old} to {files[place]}.", moves=(old, files[place]))


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _notes_of(folder: str) -> dict[str, list[tuple[str, str, str, str, str]]]:
    """Return the kind, sentence, reason, place and quotation of each note, by project."""
    found: dict[str, dict[str, tuple[str, str, str, str, str]]] = {}
    for path in sorted(glob.glob(os.path.join(folder, "*notes*.jsonl"))):
        for one in read_lines(path):
            for line in one.get("lines", ()):
                if note := _note(line):
                    found.setdefault(one["project"], {})[note[1]] = note
    by_number = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
    return {project: list(notes.values()) for project, notes in by_number}


def _note(line: str) -> tuple[str, str, str, str, str] | None:
    kind, is_note, rest = line.partition(": ")
    if not (is_note and kind.startswith("Noted ")) or "{id:" in rest.partition(" From:")[0]:
        return None
    first = _FIELD.search(f" {rest}")
    text = f" {rest}"[: first.start()].strip().rstrip(".") if first else rest.rstrip(".")
    fields = dict(_FIELD.findall(f" {rest}"))
    words = _PLACEHOLDER.sub(lambda match: match[1], fields.get("From", ""))
    quotation = words.strip().strip('"“”[]').strip()
    plain = [fields.get(name, "").strip() for name in ("Why", "When")]
    return kind.removeprefix("Noted "), text, plain[0], plain[1], quotation


def _prompts_of(folder: str) -> Mapping[str, list[str]]:
    """Return the short prompts of conversations (`*.jsonl.gz`), by project; {} without any."""
    found: dict[str, list[str]] = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl.gz"))):
        for session in read_lines(path):
            prompts = [t["prompt"] for t in session["turns"] if 0 < len(t["prompt"]) < 600]
            plain = [p for p in prompts if not p.startswith(("/", "<", "[", "This session"))]
            found.setdefault(session["project"], []).extend(plain)
    return found
