"""Measure redaction on texts that hold a credential, and on texts that only look so.

    python3 benchmarks/redaction.py                        both halves, by kind
    python3 benchmarks/redaction.py --half tune --show 3   and three misses of each kind
    python3 benchmarks/redaction.py --with PYTHON          beside detect-secrets of that Python
    python3 benchmarks/redaction.py --check                fails below the floors of the held half

Everything is made at run time from a fixed seed. The halves differ by form: rules may be tuned on
`tune`; `held` has other phrasings, tools, issuers and formats, and its samples are never shown. A
credential is found when no eight characters of it that follow one another are left (of a shorter
one: when the whole is gone). A sample is over-redacted when more than a quarter of the words around
the credential is lost. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plugin"))

import phrasings
import written
from credentials import BASE64, UPPER, URL_SAFE, VALUES, Chance, Planted, block, made, some
from issuers import BARE, KEYED, half_of
from lookalikes import HARMLESS, filled
from memory_fabric.redact import redact

HALVES = ("tune", "held")
SEEDS = {"tune": 11, "held": 47}
EACH = 60
MAX_LEFT = 7
MOST_WORDS_LOST = 0.25
# Floors of the held half for --check: the share found, in each kind, and of alarms.
LEAST_FOUND, LEAST_IN_KIND, MOST_ALARMS = 0.97, 0.90, 0.01
# What detect-secrets marks in each text: as a file with its default settings, or as a string, which
# takes every word for a possible secret.
THEIRS = """
import json, os, sys, tempfile
from detect_secrets.core.scan import scan_file, scan_line
from detect_secrets.settings import default_settings
folder = tempfile.mkdtemp()
path = os.path.join(folder, "text.txt")
for line in sys.stdin:
    text = json.loads(line)
    with default_settings():
        if sys.argv[1] == "strings":
            found = {s.secret_value for part in text.split("\\n") for s in scan_line(part)}
        else:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
            found = {s.secret_value for s in scan_file(path)}
    print(json.dumps(sorted(x for x in found if x)))
"""
# How an issuer's name is written beside a token that has no form of its own.
KEYED_AROUND = {
    "tune": (
        "{NAME}_API_KEY={}",
        '"{name}_token": "{}"',
        "{name}.secret = '{}'",
        "{Name} API key: {}",
        "{NAME}_SECRET: {}",
        "the {name} token is {}",
    ),
    "held": (
        "{name}ApiKey: '{}',",
        "export {NAME}_ACCESS_KEY={}",
        '{name}_auth_token => "{}"',
        "our {Name} key ({})",
        "{NAME}_KEY := {}",
        "our key for {Name}: `{}`",
        "{name}-secret-key {}",
    ),
}
ISSUED_AROUND = {
    "tune": ("{Name} API key: {}", "{NAME}_TOKEN={}", "the {Name} key is {}"),
    "held": ("{Name} credentials -> {}", '{name}Secret: "{}"', "set {}, that is for {Name}"),
}
BARE_AROUND = {
    "tune": ("{}", "We rotate {} tomorrow.", "curl https://x.example.org -d {}", "config: `{}`"),
    "held": ("he pasted {} into the wiki!", "args = ['{}', 3]", "({})", "\t{}\n", "> {}\nworks"),
}
# The text of the user that goes on around a sample; none for a third of them.
LINES = (
    ("", ""),
    ("Deployment of the billing worker went through.\n", "\nAfterwards restart the scheduler."),
    ("Notes from today about migration:\n\n", "\n\nNext comes observability."),
)
PEMS = {
    "tune": ("RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY"),
    "held": ("OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "ENCRYPTED PRIVATE KEY"),
}
PLACE = re.compile(r"\{(AWS|AZURE|PEM|ID|[a-zA-Z])\}")
WORD = re.compile(r"\w{2,}")
GONE = "\0"
T = TypeVar("T")


class Sample(NamedTuple):
    """A text with a credential in it: of which kind, and the parts that must be gone."""

    kind: str
    parts: tuple[str, ...]
    text: str


class Share(NamedTuple):
    """How many of how many."""

    hits: int
    of: int

    def __str__(self) -> str:
        if not self.of:
            return "—"
        low, high = wilson(self.hits, self.of)
        return (
            f"{100 * self.hits / self.of:5.1f} % of {self.of:4d} ({100 * low:.1f}–{100 * high:.1f})"
        )


def wilson(hits: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % interval of a share."""
    share, spread = hits / of, z * z / of
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / of + spread / of / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def samples(half: str, each: int = EACH) -> list[Sample]:
    """Return `each` samples of every kind (more if there are more forms), always the same."""
    chance = random.Random(SEEDS[half])
    return [
        _surrounded(chance, kind, _clean(chance, form), each > 1)
        for kind, forms in kinds(half).items()
        for form in _spread(forms, each)
    ]


def harmless(half: str, each: int = EACH) -> list[tuple[str, str]]:
    """Return (kind, text) without any secret, `each` of every kind."""
    chance = random.Random(SEEDS[half])
    return [
        (kind, filled(chance, form))
        for kind, forms in HARMLESS.items()
        for form in _spread(forms[HALVES.index(half)], each)
    ]


Form = Callable[[Chance], Planted]


def kinds(half: str) -> Mapping[str, Sequence[Form]]:
    """Return the forms of every kind of this half."""
    at = HALVES.index(half)
    found: dict[str, Sequence[Form]] = {}
    for language, forms in phrasings.STATED.items():
        found[f"sentence: {language}"] = [_template(form, half, True) for form in forms[at]]
    for kind, table in (
        ("weak password", phrasings.WEAK),
        ("seed phrase", phrasings.SEED),
        ("table", phrasings.TABLES),
        ("value on the next line", phrasings.NEXT_LINE),
        ("name, something, value", phrasings.BETWEEN),
        ("connection string", written.CONNECTIONS),
        ("command line", written.COMMANDS),
        (".env", written.ENVIRONMENT),
        ("configuration", written.CONFIGURATION),
        ("header", written.HEADERS),
        ("JWT", written.TOKENS),
        ("cloud key", written.CLOUD),
    ):
        found[kind] = [_template(form, half) for form in table[at]]
    issued = half_of(BARE, half)
    keyed = half_of(KEYED, half)
    found["issuer: bare token"] = [_issued(n, f, BARE_AROUND[half]) for n, f in issued]
    found["issuer: token by its name"] = [_issued(n, f, ISSUED_AROUND[half]) for n, f in issued]
    found["issuer: only the name tells"] = [_issued(n, f, KEYED_AROUND[half]) for n, f in keyed]
    found["PEM"] = [_pem(half, cut) for cut in _CUTS[half]]
    found["environment dump"] = [_dump(half)]
    return found


def is_found(sample: Sample, cleaned: str) -> bool:
    """Return True if nothing of the credential is left that would help a thief."""
    return not any(_left(part, cleaned) for part in sample.parts)


def is_over(sample: Sample, cleaned: str) -> bool:
    """Return True if much of the text around the credential is lost."""
    rest = sample.text
    for part in sorted(sample.parts, key=len, reverse=True):
        rest = rest.replace(part, GONE)
    around = [
        word
        for line in rest.split("\n")
        if "-----" not in line
        for chunk in line.split()
        if GONE not in chunk
        for word in WORD.findall(chunk)
    ]
    lost = sum(word not in cleaned for word in around)
    return lost > MOST_WORDS_LOST * len(around)


def ours(texts: Sequence[str]) -> list[str]:
    """Return the texts as they would be stored."""
    return [redact(text) for text in texts]


def theirs(python: str, mode: str) -> Callable[[Sequence[str]], list[str]]:
    """Return the same by detect-secrets: what it marks is cut out."""

    def clean(texts: Sequence[str]) -> list[str]:
        done = subprocess.run(
            [python, "-c", THEIRS, mode],
            input="\n".join(json.dumps(text) for text in texts),
            capture_output=True,
            text=True,
            check=True,
        )
        marked = [json.loads(line) for line in done.stdout.splitlines()]
        cleaned = []
        for text, secrets in zip(texts, marked, strict=True):
            for secret in sorted(secrets, key=len, reverse=True):
                text = text.replace(secret, "[secret]")
            cleaned.append(text)
        return cleaned

    return clean


def measured(
    clean: Callable[[Sequence[str]], list[str]], half: str, each: int = EACH
) -> dict[str, Any]:
    """Return the shares found, over-redacted and wrongly changed, by kind; seconds a megabyte."""
    planted, plain = samples(half, each), harmless(half, each)
    began = time.perf_counter()
    cleaned = clean([sample.text for sample in planted])
    left = clean([text for _, text in plain])
    took_s = time.perf_counter() - began
    found = [is_found(sample, text) for sample, text in zip(planted, cleaned, strict=True)]
    over = [is_over(sample, text) for sample, text in zip(planted, cleaned, strict=True)]
    alarms = [text != after for (_, text), after in zip(plain, left, strict=True)]
    size = sum(len(s.text) for s in planted) + sum(len(text) for _, text in plain)
    return {
        "half": half,
        "found": Share(sum(found), len(found)),
        "found by kind": _shares((s.kind for s in planted), found),
        "over": Share(sum(over), len(over)),
        "over by kind": _shares((s.kind for s in planted), over),
        "alarms": Share(sum(alarms), len(alarms)),
        "alarms by kind": _shares((kind for kind, _ in plain), alarms),
        "s per MB": took_s * 1e6 / size,
        "missed": [
            (s.kind, s.text, after)
            for s, after, hit in zip(planted, cleaned, found, strict=True)
            if not hit
        ],
        "overdone": [
            (s.kind, s.text, after)
            for s, after, hit in zip(planted, cleaned, over, strict=True)
            if hit
        ],
        "alarmed": [
            (kind, text, after)
            for ((kind, text), after) in zip(plain, left, strict=True)
            if text != after
        ],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; 1 when --check finds a floor missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--half", choices=(*HALVES, "both"), default="both")
    parser.add_argument("--each", type=int, default=EACH, help="samples of a kind")
    parser.add_argument("--show", type=int, default=0, help="so many misses of each kind")
    parser.add_argument("--with", dest="python", default="", help="a Python with detect-secrets")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args(arguments)
    if asked.show and asked.half != "tune":
        parser.error("--show needs --half tune: whoever tunes rules must not see the held half.")
    sides: dict[str, Callable[[Sequence[str]], list[str]]] = {"ours": ours}
    if asked.python:
        for mode in ("files", "strings"):
            sides[f"detect-secrets on {mode}"] = theirs(asked.python, mode)
    halves = [half for half in HALVES if asked.half in ("both", half)]
    found = {
        name: [measured(clean, half, asked.each) for half in halves]
        for name, clean in sides.items()
    }
    for name, tables in found.items():
        for table in tables:
            _print(name, table, asked.show, asked.json)
    held = [table for table in found["ours"] if table["half"] == "held"]
    return int(asked.check and not all(passes(table) for table in held))


def passes(table: Mapping[str, Any]) -> bool:
    """Return True if a half is above every floor."""
    found, alarms = table["found"], table["alarms"]
    return (
        found.hits >= LEAST_FOUND * found.of
        and all(s.hits >= LEAST_IN_KIND * s.of for s in table["found by kind"].values())
        and alarms.hits <= MOST_ALARMS * alarms.of
    )


def _print(name: str, table: dict[str, Any], show: int, as_json: bool) -> None:
    shown = {title: table.pop(title) for title in ("missed", "overdone", "alarmed")}
    if as_json:
        print(json.dumps({"by": name, **table}))
        return
    print(f"\n## {name}, {table['half']}: {table['s per MB']:.2f} s a megabyte")
    for title in ("found", "over", "alarms"):
        print(f"\n{title:32} {table[title]}")
        for kind, share in table[f"{title} by kind"].items():
            if title == "found" or share.hits:
                print(f"  {kind:30} {share}")
    for title, cases in shown.items():
        for kind in dict.fromkeys(kind for kind, _, _ in cases):
            some_of = [case for case in cases if case[0] == kind]
            for _, text, after in some_of[:: max(1, len(some_of) // show)][:show] if show else ():
                print(f"{title}: {kind}\n  {text!r}\n  {after!r}")


def _left(part: str, text: str) -> bool:
    size = min(MAX_LEFT + 1, len(part))
    return any(part[i : i + size] in text for i in range(len(part) - size + 1))


def _spread(forms: Sequence[T], each: int) -> Iterator[T]:
    """Every form as often as the others; with each 1 the first of them only, for a quick look."""
    times = 1 if each == 1 else max(1, math.ceil(each / len(forms)))
    for form in forms:
        for _ in range(times):
            yield form


def _clean(chance: Chance, form: Form) -> Planted:
    """A credential of this form that is not in its own surroundings, by chance."""
    while True:
        planted = form(chance)
        bare = planted.whole
        for part in sorted(planted.parts, key=len, reverse=True):
            bare = bare.replace(part, " ")
        if not is_found(Sample("", planted.parts, ""), bare):
            continue
        return planted


def _surrounded(chance: Chance, kind: str, planted: Planted, lines: bool) -> Sample:
    before, after = chance.choice(LINES) if lines else LINES[0]
    return Sample(kind, planted.parts, f"{before}{planted.whole}{after}")


def _template(form: str, half: str, quoted: bool = False) -> Form:
    def make(chance: Chance) -> Planted:
        parts: list[str] = []

        def value(match: re.Match[str]) -> str:
            made_ = _value(chance, match[1], half)
            parts.extend(made_.parts)
            if quoted and "\n" not in form and _may_be_quoted(form, match):
                return chance.choice(phrasings.QUOTES[half]).replace("{}", made_.whole)
            return made_.whole

        whole = PLACE.sub(value, form)
        return Planted(tuple(parts), whole)

    return make


def _may_be_quoted(form: str, match: re.Match[str]) -> bool:
    """Not where quotes stand already."""
    return form[match.start() - 1 : match.start()] not in ("'", '"', "`", "「", "“")


def _value(chance: Chance, name: str, half: str) -> Planted:
    if name == "PEM":
        lines = block(chance, "PRIVATE KEY", 6)
        return Planted(tuple(lines[1:-1]), "\\n".join(lines))
    long = {"AWS": (40, BASE64), "ID": (16, UPPER)}
    if name in long:
        text = some(chance, *long[name])
    elif name == "AZURE":
        text = f"{some(chance, 3)}8Q~{some(chance, 34, URL_SAFE)}"
    else:
        text = VALUES[name](chance)
    return Planted((text,), text)


def _issued(name: str, form: str, around: Sequence[str]) -> Form:
    def make(chance: Chance) -> Planted:
        token = made(chance, form)
        plain = re.sub(r"\W", "", name)
        whole = (
            chance.choice(around)
            .replace("{NAME}", plain.upper())
            .replace("{Name}", name.capitalize() if name.islower() else name)
            .replace("{name}", plain.lower())
            .replace("{}", token.whole)
        )
        return Planted(token.parts, whole)

    return make


def _pem(half: str, cut: Callable[[list[str]], list[str]]) -> Form:
    def make(chance: Chance) -> Planted:
        lines = block(chance, chance.choice(PEMS[half]), chance.randrange(8, 16))
        kept = cut(lines)
        body = [line for line in lines[1:-1] if any(line in k for k in kept)]
        return Planted(tuple(body), "\n".join(kept))

    return make


# What is left of a key: all, its end, its beginning, its middle with the last line.
_CUTS: Mapping[str, Sequence[Callable[[list[str]], list[str]]]] = {
    "tune": (
        lambda lines: lines,
        lambda lines: lines[len(lines) // 2 :],
        lambda lines: lines[: len(lines) // 2],
        lambda lines: ["key: |", *(f"  {line}" for line in lines)],
    ),
    "held": (
        lambda lines: lines[1:],
        lambda lines: lines[-4:],
        lambda lines: lines[:-1],
        lambda lines: [f"> {line}" for line in lines],
        lambda lines: [f"    {line}" for line in lines[3:]],
        lambda lines: [lines[0], "Proc-Type: 4,ENCRYPTED", "", *lines[1:]],
        lambda lines: ["$ tail -5 id_key", *lines[-5:], "$"],
        lambda lines: ["PRIVATE='" + lines[0], *lines[1:-1], lines[-1] + "'"],
        lambda lines: [f"+{line}" for line in lines],
    ),
}


def _dump(half: str) -> Form:
    """Five lines of an .env file, harmless ones between."""
    table = written.ENVIRONMENT[HALVES.index(half)]
    rest = ("DEBUG=1", "PORT=8080", "LOG_LEVEL=info", "REGION=eu-west-1", "APP_NAME=billing")

    def make(chance: Chance) -> Planted:
        lines = [_template(form, half)(chance) for form in chance.sample(table, 3)]
        texts = [line.whole for line in lines] + chance.sample(rest, 3)
        chance.shuffle(texts)
        return Planted(tuple(part for line in lines for part in line.parts), "\n".join(texts))

    return make


def _shares(names: Iterable[str], hits: Sequence[bool]) -> dict[str, Share]:
    shares: dict[str, Share] = {}
    for name, hit in zip(names, hits, strict=True):
        known = shares.get(name, Share(0, 0))
        shares[name] = Share(known.hits + hit, known.of + 1)
    return shares


if __name__ == "__main__":
    sys.exit(main())
