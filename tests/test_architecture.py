"""The shape of the package, read from its source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

PLUGIN = Path(__file__).resolve().parents[1] / "plugin"


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert circles(imports_in(PLUGIN)) == []


def test_a_late_import_and_one_for_type_checkers_close_a_circle(tmp_path: Path) -> None:
    package = tmp_path / "p"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "a.py").write_text("def f():\n    from p import b\n")
    (package / "b.py").write_text("from . import c\n")
    (package / "c.py").write_text("if TYPE_CHECKING:\n    from p.a import f\n")
    (package / "d.py").write_text("import p.a\n")

    assert circles(imports_in(tmp_path)) == [["p.a", "p.b", "p.c"]]


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
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*(above if node.level else []), *filter(None, [node.module])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                if whole in known or base in known:
                    yield whole if whole in known else base


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


# What only POSIX has, and the modules that may use it: another way for Windows is beside it.
POSIX_ONLY = re.compile(
    r"import (fcntl|resource|pwd|grp|termios)\b|AF_UNIX|/proc/|os\.(fork|posix_spawn|kill|waitpid|"
    r"setsid|getuid|geteuid|statvfs|pread|pwrite|O_CLOEXEC|O_NONBLOCK|O_NOFOLLOW|execv|uname)\b"
)
PORTED = frozenset(
    """file_lock.py processes.py deadline.py config.py store/files.py store/health/filesystem.py
    setup/packages.py setup/install_packages.py servers/http/listen_sockets.py
    servers/team/server.py""".split()
)


def test_what_only_posix_has_is_used_where_the_other_way_is_beside_it() -> None:
    package = PLUGIN / "memory_fabric"
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if POSIX_ONLY.search(path.read_text("utf-8"))
    }

    assert found <= PORTED
