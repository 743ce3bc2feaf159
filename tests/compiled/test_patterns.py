"""Expressions that one process compiled and the next ones take as they are."""

from __future__ import annotations

import marshal
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memory_fabric import patterns
from memory_fabric.capture import polarity
from memory_fabric.patterns import DOTALL, IGNORECASE, pattern

PLUGIN = Path(patterns.__file__).parents[1]
# Says which modules a process has loaded once it has matched, and keeps what it compiled.
SCRIPT = """
import sys
sys.path.append(sys.argv[1])
from memory_fabric import patterns as expressions
expressions._FILE = sys.argv[2]
chosen = expressions.pattern(r"(?P<who>wé|they) (?:chose|dropped) (\\w+)")
found = chosen.search("So WÉ chose Redis")
said = (found["who"], found[2], "re" in sys.modules)
expressions.keep()
print(said)
"""


def matched(kept: Path) -> str:
    command = [sys.executable, "-X", "utf8", "-I", "-S", "-c", SCRIPT, str(PLUGIN), str(kept)]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout.strip()


def test_what_was_compiled_once_needs_no_package_again(tmp_path: Path) -> None:
    kept = tmp_path / "kept"

    first, second = matched(kept), matched(kept)

    assert first == "('WÉ', 'Redis', True)"
    assert second == "('WÉ', 'Redis', False)"
    assert kept.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["damaged", "cut", "another", "no file", "a list"])
def test_what_cannot_be_taken_is_compiled_anew(tmp_path: Path, kind: str) -> None:
    kept = tmp_path / "kept"
    matched(kept)
    made_by, found = marshal.loads(kept.read_bytes())
    if kind == "no file":
        kept.unlink()
        kept.mkdir()
    else:
        data = {
            "damaged": b"\0" * 40,
            "cut": kept.read_bytes()[:-9],
            "another": marshal.dumps((("another", made_by[1]), found)),
            "a list": marshal.dumps((made_by, [])),
        }[kind]
        kept.write_bytes(data)

    assert matched(kept) == "('WÉ', 'Redis', True)"


@pytest.mark.parametrize(
    "kind", ["fewer parts", "code", "bytes of code", "a number", "flags", "cut", "another form"]
)
def test_an_expression_that_was_saved_damaged_is_compiled_and_saved_anew(
    tmp_path: Path, kind: str
) -> None:
    kept = tmp_path / "kept"
    matched(kept)
    made_by, found = marshal.loads(kept.read_bytes())
    ((key, saved),) = found.items()
    flags, words, *rest = marshal.loads(saved)
    damaged = {
        "fewer parts": marshal.dumps((flags, words)),
        "code": marshal.dumps((flags, b"\xff" * len(words), *rest)),
        "bytes of code": marshal.dumps((flags, words[:-1], *rest)),
        "a number": marshal.dumps(1),
        "flags": marshal.dumps((1 << 80, words, *rest)),
        "cut": saved[:-9],
        "another form": (flags, words, *rest),
    }[kind]
    kept.write_bytes(marshal.dumps((made_by, {key: damaged})))

    first, second = matched(kept), matched(kept)

    assert first == "('WÉ', 'Redis', True)"
    assert second == "('WÉ', 'Redis', False)"


@pytest.mark.parametrize("flags", [0, IGNORECASE, DOTALL])
@pytest.mark.parametrize("expression", [polarity._LEFT, polarity._DENIED, polarity._CLAUSES])
def test_a_taken_expression_is_the_one_that_the_package_compiles(
    expression: str, flags: int
) -> None:
    compiled = re.compile(expression, flags)
    assert pattern(expression, flags) == compiled
    assert pattern(expression, flags).flags == compiled.flags
    assert pattern(expression, flags) is pattern(expression, flags)


def otherwise(expression: str, parts: object) -> re.Pattern[str]:
    raise TypeError("the matcher takes other arguments")


def test_an_interpreter_that_is_made_otherwise_compiles_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patterns, "_pattern_of", otherwise)
    found = pattern(r"made (otherwise)").search("Made OTHERWISE")
    assert found and found[1] == "OTHERWISE"
