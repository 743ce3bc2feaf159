"""Measure redaction on texts that hold a credential, and on texts that only look so.

    python3 benchmarks/redaction.py                        every half, by kind
    python3 benchmarks/redaction.py --half tune --show 3   and three misses of each kind
    python3 benchmarks/redaction.py --half everyday        other kinds, from a day's work
    python3 benchmarks/redaction.py --with PYTHON          beside detect-secrets of that Python
    python3 benchmarks/redaction.py --check                fails below the floors of what is held
    python3 benchmarks/redaction.py --ordinary 10000       texts of this machine that are changed

Everything is made at run time from a fixed seed. The halves differ by form: rules may be tuned on
`tune`; `held` has other phrasings, tools, issuers, formats and values. Its forms (`held_*.py`) are
not to be read by anyone who writes rules, and its samples are never shown. Nor are those of
`documented`: forms that tools document, with weak and odd passwords. A credential is found
when no eight characters of it that follow one another are left (of a shorter one: when the whole is
gone). A sample is over-redacted when more than a quarter of the words around the credential is
lost. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import difflib
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

from memory_fabric.redaction.redact import redact
from redaction_samples import ordinary
from redaction_samples.credentials import Chance, Planted, block, made
from redaction_samples.halves import HALVES, SETS, Half
from redaction_samples.lookalikes import filled

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
PLACE = re.compile(r"\{([A-Z]+|[a-z])\}")
WORD = re.compile(r"\w{2,}")
GONE = "\0"
T = TypeVar("T")
Around = Sequence[tuple[str, str]]


class Sample(NamedTuple):
    """A text with a credential in it: of which kind, and the parts that must be gone."""

    kind: str
    parts: tuple[str, ...]
    text: str


class Share(NamedTuple):
    """A number of cases, and of how many."""

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
    chance = random.Random(SETS[half].seed)
    lines = SETS[half].lines if each > 1 else SETS[half].lines[:1]
    return [
        _surrounded(chance, kind, _clean(chance, form), lines)
        for kind, forms in kinds(half).items()
        for form in _spread(forms, each)
    ]


def harmless(half: str, each: int = EACH) -> list[tuple[str, str]]:
    """Return (kind, text) without any secret, `each` of every kind."""
    chance = random.Random(SETS[half].seed)
    return [
        (kind, filled(chance, form))
        for kind, forms in SETS[half].harmless.items()
        for form in _spread(forms, each)
    ]


Form = Callable[[Chance], Planted]


def kinds(name: str) -> Mapping[str, Sequence[Form]]:
    """Return the forms of every kind of this half."""
    half = SETS[name]
    found: dict[str, Sequence[Form]] = {}
    for language, stated in half.stated.items():
        found[f"sentence: {language}"] = [_template(form, half, True) for form in stated]
    for kind, forms in half.written.items():
        found[kind] = [_template(form, half) for form in forms]
    found["issuer: bare token"] = _issued(half.bare, half.bare_around)
    found["issuer: token by its name"] = _issued(half.bare, half.issued_around)
    found["issuer: only the name tells"] = _issued(half.keyed, half.keyed_around)
    found["PEM"] = [_pem(half, cut) for cut in half.cuts]
    found["environment dump"] = [_template(form, half) for form in half.dumps]
    return {kind: forms for kind, forms in found.items() if forms}


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
    parser.add_argument("--half", choices=(*SETS, "all"), default="all")
    parser.add_argument("--each", type=int, default=EACH, help="samples of a kind")
    parser.add_argument("--show", type=int, default=0, help="so many misses of each kind")
    parser.add_argument("--with", dest="python", default="", help="a Python with detect-secrets")
    parser.add_argument("--ordinary", type=int, default=0, help="so many texts of this machine")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args(arguments)
    if asked.show and asked.half not in ("tune", "everyday") and not asked.ordinary:
        parser.error(
            "--show needs --half tune or everyday: whoever tunes must not see what is held."
        )
    if asked.ordinary:
        return _ordinary(asked.ordinary, asked.show)
    sides: dict[str, Callable[[Sequence[str]], list[str]]] = {"ours": ours}
    if asked.python:
        for mode in ("files", "strings"):
            sides[f"detect-secrets on {mode}"] = theirs(asked.python, mode)
    halves = HALVES if asked.half == "all" else (asked.half,)
    found = {
        name: [measured(clean, half, asked.each) for half in halves]
        for name, clean in sides.items()
    }
    for name, tables in found.items():
        for table in tables:
            _print(name, table, asked.show, asked.json)
    held = [table for table in found["ours"] if table["half"] != "tune"]
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


def _ordinary(count: int, show: int) -> int:
    """Print how many ordinary texts are changed, and the lines of the first `show` of them."""
    drawn = ordinary.texts(count)
    cleaned = ours([text for _, text in drawn])
    changed = [text != after for (_, text), after in zip(drawn, cleaned, strict=True)]
    print(f"changed {Share(sum(changed), count)}")
    for kind, share in _shares((kind for kind, _ in drawn), changed).items():
        print(f"  {kind:30} {share}")
    shown = [
        case for case, hit in zip(zip(drawn, cleaned, strict=True), changed, strict=True) if hit
    ]
    for (kind, text), after in shown[:show]:
        print(kind)
        for line in difflib.unified_diff(text.split("\n"), after.split("\n"), lineterm="", n=0):
            print(f"  {line[:300]}")
    return 0


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


def _surrounded(chance: Chance, kind: str, planted: Planted, lines: Around) -> Sample:
    before, after = chance.choice(lines)
    return Sample(kind, planted.parts, f"{before}{planted.whole}{after}")


def _template(form: str, half: Half, quoted: bool = False) -> Form:
    def make(chance: Chance) -> Planted:
        parts: list[str] = []

        def value(match: re.Match[str]) -> str:
            if match[1] not in half.values and match[1] != "PEM":
                return match[0]
            made_ = _value(chance, match[1], half)
            parts.extend(made_.parts)
            if quoted and "\n" not in form and _may_be_quoted(form, match):
                return chance.choice(half.quotes).replace("{}", made_.whole)
            return made_.whole

        whole = PLACE.sub(value, form)
        return Planted(tuple(parts), whole)

    return make


def _may_be_quoted(form: str, match: re.Match[str]) -> bool:
    """Not where quotes stand already."""
    return form[match.start() - 1 : match.start()] not in ("'", '"', "`", "「", "“")


def _value(chance: Chance, name: str, half: Half) -> Planted:
    if name == "PEM":
        lines = block(chance, "PRIVATE KEY", 6)
        return Planted(tuple(lines[1:-1]), "\\n".join(lines))
    text = half.values[name](chance)
    return Planted((text,), text)


def _issued(table: Mapping[str, Sequence[str]], around: Sequence[str]) -> list[Form]:
    return [_named(name, form, around) for name in sorted(table) for form in table[name]]


def _named(name: str, form: str, around: Sequence[str]) -> Form:
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


def _pem(half: Half, cut: Callable[[list[str]], list[str]]) -> Form:
    def make(chance: Chance) -> Planted:
        lines = block(chance, chance.choice(half.pems), chance.randrange(8, 16))
        kept = cut(lines)
        body = [line for line in lines[1:-1] if any(line in k for k in kept)]
        return Planted(tuple(body), "\n".join(kept))

    return make


def _shares(names: Iterable[str], hits: Sequence[bool]) -> dict[str, Share]:
    shares: dict[str, Share] = {}
    for name, hit in zip(names, hits, strict=True):
        known = shares.get(name, Share(0, 0))
        shares[name] = Share(known.hits + hit, known.of + 1)
    return shares


if __name__ == "__main__":
    sys.exit(main())
