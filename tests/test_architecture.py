"""The shape of the package, read from its source."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import hypothesis

PLUGIN = Path(__file__).resolve().parents[1] / "plugin"
TESTS = Path(__file__).resolve().parent
# Calls with which a test would wait for a time, or draw other values in each run.
BY_CHANCE = re.compile(
    r"\b(?:time\.sleep|(?:anyio|asyncio)\.sleep(?!\(0\))|page\.wait_for_timeout"
    r"|secrets\.(?:choice|rand\w+|token_\w+)|random\.(?:[a-z]\w*|Random(?=\(\))))\("
)
# Files that may, and why.
MAY = {
    "waiting.py": "a pause between two looks",
    "e2e/harness/stub.py": "a pause between two looks",
    "servers/test_server_resource.py": "nothing comes: only time can show it",
    "servers/http/test_http_bounds.py": "its clock is the test's own",
    "viewer/test_live_page.py": "a pause between two looks, in which the page goes on",
}


def test_the_package_has_no_circular_imports() -> None:
    assert circles(imports_in(PLUGIN)) == []


def test_circular_imports_inside_functions_and_type_checking_blocks_are_detected(
    tmp_path: Path,
) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("def f():\n    from p import b\n")
    (package / "b.py").write_text("from . import c\n")
    (package / "c.py").write_text("if TYPE_CHECKING:\n    from p.a import f\n")
    (package / "d.py").write_text("import p.a\n")

    assert circles(imports_in(tmp_path)) == [["p.a", "p.b", "p.c"]]


def test_no_test_sleeps_or_uses_unseeded_random_values() -> None:
    found: dict[str, list[str]] = {}
    for folder, folders, names in os.walk(TESTS):
        folders[:] = [name for name in folders if name not in ("node_modules", "__pycache__")]
        paths = [Path(folder, name) for name in names if name.endswith(".py")]
        found |= {str(path.relative_to(TESTS)): list(by_chance(path)) for path in paths}

    assert {name: calls for name, calls in found.items() if calls and name not in MAY} == {}
    assert [name for name in MAY if not found[name]] == []
    profile = hypothesis.settings.default
    assert profile is not None and profile.derandomize and profile.deadline is None


def test_sleeps_and_unseeded_random_calls_in_a_test_file_are_detected(tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(
        "time.sleep(1)\nrandom.choice(x)\nrandom.Random()\nrandom.Random(3)\n'time.sleep(1)'\n"
        "asyncio.sleep(0)\nsecrets.token_hex(3)\n"
    )

    assert [found.rpartition(" ")[2] for found in by_chance(path)] == ["1", "2", "3", "7"]


def by_chance(path: Path) -> Iterator[str]:
    """Yield the calls in a file by which two runs could differ; not those of programs in texts."""
    text = path.read_text("utf-8")
    if BY_CHANCE.search(text):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and (made := BY_CHANCE.match(ast.unparse(node))):
                yield f"{made[0]}…) in line {node.lineno}"


def imports_in(top: Path) -> dict[str, set[str]]:
    """Return for each module below a folder the modules there that it imports, wherever it does."""
    paths = {_name(path.relative_to(top)): path for path in top.rglob("*.py")}
    return {
        name: {found for found in _imported(name, path, paths) if found != name}
        for name, path in paths.items()
    }


def _name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imported(name: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in _statements(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                if whole in known or base in known:
                    yield whole if whole in known else base


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements in a node; walking through their expressions takes much longer."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        parts = getattr(node, field, ())
        for part in parts if isinstance(parts, list) else ():
            yield part
            yield from _statements(part)


def circles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that reach one another, each sorted by name."""
    reached = {name: _reached(name, imports) for name in imports}
    found = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in imports
        if name in reached[name]
    }
    return [list(circle) for circle in sorted(found)]


def _reached(name: str, imports: Mapping[str, set[str]]) -> set[str]:
    """Return the modules that a module imports, directly or by way of others."""
    reached: set[str] = set()
    waiting = set(imports[name])
    while waiting:
        one = waiting.pop()
        reached.add(one)
        waiting |= imports[one] - reached
    return reached


def test_the_size_script_counts_lines_by_subpackage_and_fails_above_its_limit(
    tmp_path: Path,
) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "graph.py").write_text("a = 1\nb = 2\n")
    (tmp_path / "config.py").write_text("c = 3\n")
    size = [sys.executable, str(TESTS.parent / "scripts" / "size"), str(tmp_path)]

    within = subprocess.run([*size, "--max-lines", "3"], capture_output=True, text=True)
    over = subprocess.run([*size, "--max-lines", "2"], capture_output=True, text=True)

    assert [line.split() for line in within.stdout.splitlines()] == [
        ["(top", "level)", "1", "lines", "1", "modules"],
        ["store", "2", "lines", "1", "modules"],
        ["sum", "3", "lines", "2", "modules"],
    ]
    assert (within.returncode, over.returncode) == (0, 1)
    assert "more than 2 lines" in over.stderr


# What only POSIX has, and the modules that may use it: another way for Windows is beside it.
POSIX_ONLY = re.compile(
    r"import (fcntl|resource|pwd|grp|termios)\b|AF_UNIX|/proc/|os\.(fork|posix_spawn|kill|waitpid|"
    r"setsid|getuid|geteuid|statvfs|pread|pwrite|O_CLOEXEC|O_NONBLOCK|O_NOFOLLOW|execv|uname)\b"
)
PORTED = frozenset(
    """file_lock.py processes.py deadline.py config.py store/files.py store/upkeep/filesystem.py
    setup/packages.py setup/install_packages.py
    live_client.py servers/live.py cli/main.py""".split()
)


def test_only_modules_with_a_windows_alternative_use_posix_only_features() -> None:
    package = PLUGIN / "memory_fabric"
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if POSIX_ONLY.search(path.read_text("utf-8"))
    }

    assert found <= PORTED
