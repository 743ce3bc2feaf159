"""Prompts in the forms in which people write to a coding assistant, made from a grammar.

Forms, their shares and their lengths follow real coding conversations (half of the prompts have at
most 125 characters, a quarter has 300 or more, one in twelve 1,000 or more); no sentence is from
one. `mix` returns the same prompts for the same seed. Names are those of the store that
`hooks_store` builds.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from workloads.hooks_store import OBSERVATIONS_PER_ENTITY, SUBJECTS, THINGS

MAX_CHARS = 2_600
# A field of a template; other braces stay.
FIELD = re.compile(r"\{([a-z]+)\}")


class Prompt(NamedTuple):
    """A prompt and the name of its form."""

    form: str
    text: str


class Words:
    """The sources of the sentences of one mix; `entities` is the number of those in the store."""

    def __init__(self, seed: str, entities: int) -> None:
        self.chance = random.Random(seed)
        self.entities = max(1, entities)

    def one(self, of: Sequence[str]) -> str:
        return self.chance.choice(of)

    def fill(self, template: str) -> str:
        """The template with a fitting word for each of its fields, as often as they hold fields."""
        while FIELD.search(template):
            template = FIELD.sub(lambda field: self.word(field[1]), template)
        return template

    def word(self, field: str) -> str:
        if field == "name":
            number = self.chance.randrange(self.entities)
            return f"{self.one(SUBJECTS)}-project-{number}"
        if field == "n":
            return str(self.chance.randrange(2, 9_000))
        return self.one(FIELDS[field])

    def sentences(self, of: Sequence[str], low: int, high: int) -> str:
        count = self.chance.randint(low, high)
        picked = self.chance.sample(of, min(count, len(of)))
        return " ".join(self.fill(one) if count == 1 else _ended(self.fill(one)) for one in picked)


def _ended(sentence: str) -> str:
    return sentence if sentence[-1] in ".?:。？" else f"{sentence}."


FIELDS: dict[str, Sequence[str]] = {
    "s": SUBJECTS,
    "t": THINGS,
    "file": (
        "src/{s}/handlers.py", "app/{s}/page.tsx", "internal/{s}/queue.go", "{s}.service.ts",
        "tests/test_{s}.py", "crates/{s}/src/lib.rs", "db/{s}.sql", "config/{s}.yaml",
    ),
    "fn": ("load_{s}", "parse_{s}", "{s}Handler", "render_{s}_row", "use{t}", "retry_{s}"),
    "part": ("button", "table", "form", "header", "list", "filter", "modal", "export", "menu"),
    "verb": ("add", "fix", "rename", "move", "remove", "refactor", "test", "document", "simplify"),
    "what": (
        "a {part} for {s}", "the {part} of the {s} page", "{fn} in {file}", "the {s} endpoint",
        "pagination to the {s} list", "the type of {fn}", "the loading state of {s}",
    ),
    "bad": (
        "returns nothing", "is slow for large tenants", "shows the wrong total",
        "fails in CI", "renders twice", "loses the last row", "times out",
    ),
    "err": (
        "TypeError: Cannot read properties of undefined (reading '{s}')",
        "error[E0308]: mismatched types in crates/{s}/src/lib.rs:{n}",
        "sqlite3.OperationalError: no such column: {s}_id",
        "AssertionError: expected {n} rows of {s}, got {n}",
        "panic: runtime error: index out of range [{n}] with length {n}",
        "ERROR in {file}({n},12): TS2345: Argument of type 'string' is not assignable",
    ),
}  # fmt: skip

NODS = (
    "ok", "yes", "go on", "continue", "looks good", "yes please do that", "try again",
    "ok commit this", "perfect, thanks", "run the tests", "next one please", "what now?",
    "yes, both of them", "same for the other file", "can you check again", "push it",
)  # fmt: skip
ERRANDS = (
    "{verb} {what}", "please {verb} {what}", "can you {verb} {what}?", "now {verb} {what} too",
    "{verb} {what} and run the tests", "the {part} in {file} {bad}, please fix it",
    "write a test for {fn} with an empty list", "show the {s} count next to the {part}",
    "move {fn} to {file} and update the imports", "add a {part} that filters {s} by date",
    "create a migration for {s} with a column for the {t} state",
    "look at {file} and tell me what {fn} does", "bump the version and tag it",
)  # fmt: skip
DETAILS = (
    "The {s} {part} {bad}.", "It should look like the one on the {s} page.",
    "Right now it {bad} when the list is empty.", "The data comes from {fn}.",
    "Put the new code into {file}.", "The user clicks on the {part} and nothing happens.",
    "I see the same on staging.", "Then check {file} as well.",
    "Also rename {fn} to something shorter.", "The labels are in English and German.",
    "There are about {n} rows in {s} for the largest tenant.", "Run the linter after that.",
    "When it is done, show me the diff.", "The design has a {part} on the left side.",
    "For mobile the {part} can be hidden.", "{fn} is called from {file} twice.",
    "We see it only with {t} in production.", "Tell me first what you would change.",
)  # fmt: skip
# Sentences with words of a rule or a choice that are about the errand only.
ERRAND_CUES = (
    "I'll look at the {part} later.", "Please don't change anything else yet.",
    "It is only one {part}.", "The {part} is already set up in {file}.",
    "This must be a mistake in {fn}.", "I use the second {part} for that.",
)  # fmt: skip
QUESTIONS = (
    "why does {fn} return nothing?", "where is the {s} {part} rendered?",
    "how does the {s} service handle {t} for large tenants?", "what does {fn} in {file} do?",
    "is there a test for {fn}?", "does {s} still need {t}?",
    "what happens when {t} is not available during {s}?", "which {part} uses {fn}?",
    "how can I run the tests of {s} alone?", "what is the difference between {fn} and {fn}?",
    "could {t} be the reason why {s} {bad}?", "how is {s} connected to {s}?",
)  # fmt: skip
NAMED = (
    "what do we know about {name}?", "why does {name} require {t}?",
    "is {name} the component that caches {t}, or is it {name}?",
    "move the {t} of {name} to {name} and fix the tests",
    "{name} {bad} since yesterday, look at how it handles {t}",
    "how do {name} and {name} share {t} and {t}?",
    "add a {part} for {name} that shows the state of {t}",
)  # fmt: skip
SETTLED = (
    "We decided to use {t} for {s} because it is simpler.",
    "always run the {s} tests before a push",
    "let's use {t} instead of {t} for {s}", "don't add comments to {file} without asking",
    "no, that is not what I asked for, the {part} belongs to {s}",
    "from now on put new migrations of {s} into db/{s}", "I prefer {t} over {t} for such jobs",
    "never touch {file}, it is generated", "we only support {t} in {s}, nothing else",
    "actually, keep the {part} as it was", "remember that the {s} queue is drained at night",
    "I usually start the {s} server myself", "you forgot the {part}, it must stay in {file}",
)  # fmt: skip
FOREIGN = (
    "warum ist die Liste der Rechnungen in {s} so langsam?",
    "bitte füge in {file} einen Filter nach Datum hinzu und teste ihn mit {t}",
    "agrega un botón para exportar {s} y muestra el total en la tabla",
    "¿por qué {fn} devuelve una lista vacía cuando no hay {t}?",
    "corrige el error de {s}, la página queda en blanco después de guardar",
    "ajoute une colonne pour {t} dans la page de {s} et vérifie les tests",
    "adicione um filtro por data na tela de {s} e rode os testes",
    "请检查 {s} 的分页，为什么大客户的导出这么慢？", "把 {file} 里的 {fn} 拆成两个函数并补上测试",
    "{s} のページで {t} のエラーが出ます。原因を調べてください", "{fn} のテストを追加して",
    "{s} 목록이 느린 이유를 찾아서 고쳐 줘", "проверь, почему {s} падает при запуске с {t}",
)  # fmt: skip
ASKING = (
    "The {s} job fails since this morning, what could it be?", "I get this when I run {fn}:",
    "what is wrong here?", "CI is red, please fix", "this comes up after the {t} update, why?",
    "same error again in {name}:",
)  # fmt: skip
FRAMES = (
    '  File "/srv/app/{s}/{t}.py", line {n}, in {fn}\n    return self.{fn}(request, retries={n})',
    "    at {fn} (/app/node_modules/{s}/dist/{t}.js:{n}:17)",
    "\tat com.example.{s}.{t}Service.{fn}({t}Service.java:{n})",
    "  {n}: {s}::{t}::{fn}\n             at /build/{s}/src/{t}.rs:{n}:9",
    "goroutine {n} [running]:\nmain.{fn}(0xc000{n}, 0x{n})\n\t/go/src/{s}/{t}.go:{n} +0x1d",
)
LINES = (
    "2026-03-0{n} 10:14:02 INFO {s}.worker job={n} took={n}ms queue={t}",
    "def {fn}(session, tenant):\n    rows = session.query({t}).filter_by(tenant=tenant).all()",
    "    return [row.as_dict() for row in rows if row.state == '{s}']",
    "const {fn} = async (id: string) => {\n  const rows = await db.{s}.findMany({ id });",
    '  "{s}": { "enabled": true, "retries": {n}, "backend": "{t}" },',
    "SELECT id, total FROM {s}_rows WHERE tenant = {n} ORDER BY created_at DESC;",
    "+    {fn}(rows, limit={n})", "-    {fn}(rows)", "  - name: {s}\n    image: {t}:1.{n}",
)  # fmt: skip


def _nod(words: Words) -> str:
    return words.one(NODS)


def _errand(words: Words) -> str:
    return words.sentences(ERRANDS, 1, 2)


def _described(words: Words) -> str:
    details = words.sentences((*DETAILS, *ERRAND_CUES), 2, 6)
    return f"{words.sentences(ERRANDS, 1, 1)}. {details}"


def _question(words: Words) -> str:
    more = words.sentences(DETAILS, 1, 4) if words.chance.random() < 0.6 else ""
    return f"{words.sentences(QUESTIONS, 1, 1)} {more}".strip()


def _named(words: Words) -> str:
    more = words.sentences(DETAILS, 1, 3) if words.chance.random() < 0.5 else ""
    return f"{words.sentences(NAMED, 1, 1)} {more}".strip()


def _settled(words: Words) -> str:
    more = words.sentences(DETAILS, 1, 4) if words.chance.random() < 0.6 else ""
    return f"{words.sentences(SETTLED, 1, 1)} {more}".strip()


def _foreign(words: Words) -> str:
    return words.sentences(FOREIGN, 1, 2)


def _error(words: Words) -> str:
    return f"{words.sentences(ASKING, 1, 1)} {words.fill('{err}')}"


def _trace(words: Words) -> str:
    frame = words.one(FRAMES)
    wanted = words.chance.randint(500, 2_000)
    lines = [words.fill(frame)]
    while sum(map(len, lines)) < wanted:
        lines.append(words.fill(frame))
    head = "Traceback (most recent call last):" if "File" in frame else words.fill("{err}")
    return "\n".join((words.sentences(ASKING, 1, 1), "", head, *lines, words.fill("{err}")))


def _paste(words: Words) -> str:
    line = words.chance.sample(LINES, 2)
    wanted = words.chance.randint(400, 2_100)
    lines = [words.fill(line[0])]
    while sum(map(len, lines)) < wanted:
        lines.append(words.fill(words.one(line)))
    first = words.sentences((*QUESTIONS, *ERRANDS), 1, 1)
    return "\n".join((first, "", *lines))


def _long(words: Words) -> str:
    wanted = words.chance.randint(500, 2_000)
    parts = [words.sentences(ERRANDS, 1, 1) + "."]
    bullet = words.chance.random() < 0.5
    while sum(map(len, parts)) < wanted:
        said = words.sentences((*DETAILS, *DETAILS, *ERRANDS, *QUESTIONS), 1, 3)
        parts.append(f"- {said}" if bullet else said)
    return ("\n" if bullet else " ").join(parts)


# The name of a form, its share in percent, and its maker.
FORMS: tuple[tuple[str, int, Callable[[Words], str]], ...] = (
    ("nod", 11, _nod),
    ("errand", 17, _errand),
    ("errand with details", 19, _described),
    ("question", 14, _question),
    ("names of the store", 9, _named),
    ("settles something", 8, _settled),
    ("another language", 7, _foreign),
    ("error", 4, _error),
    ("trace", 4, _trace),
    ("paste", 3, _paste),
    ("long", 4, _long),
)


def mix(count: int, *, seed: str = "mix", entities: int) -> list[Prompt]:
    """So many prompts, each form by its share, in a mixed order; the same for the same seed.

    `entities` is the number of entities in the project's store.
    """
    words = Words(seed, entities)
    whole = sum(share for _, share, _ in FORMS)
    found: list[Prompt] = []
    for at in range(count):  # shares are exact in every hundred
        place = (at + 0.5) * whole / count
        for form, share, make in FORMS:
            place -= share
            if place < 0:
                found.append(Prompt(form, make(words)[:MAX_CHARS]))
                break
    words.chance.shuffle(found)
    return found


def entities_of(observations: int) -> int:
    """The number of entities that a store of so many observations has."""
    return observations // OBSERVATIONS_PER_ENTITY
