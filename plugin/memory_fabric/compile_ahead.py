"""The process that compiles what hooks load: once for an installation, and after an edit.

A start of a session starts it detached (`setup.compiling`). It writes the files of modules that
events load together (`compiled_modules`), and saves the program's expressions (`patterns`). Which
modules these are is seen from real events in a memory of its own, in a temporary folder.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from typing import TYPE_CHECKING, Any

from memory_fabric import compiled_modules, patterns
from memory_fabric.cache import Cached
from memory_fabric.capture.prompts import standing_cues, standing_cues_by_language, stated_forms
from memory_fabric.detached import cache_options, program
from memory_fabric.redaction import credentials, harmless
from memory_fabric.setup import compiling

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

TIMEOUT_S = 60
RECORD = "record"
ASKING = "asking"
# Modules that every event needs: the dispatcher, and what it imports late.
NEEDED = ("dispatcher", "store.settings_file", "store.files", "store.memory")
HANDLERS = "memory_fabric.handlers"
# What hooks read texts with: their expressions are compiled.
PACKAGES = ("capture", "language", "notes", "recall", "redaction", "session")
STATED = "We decided to use PostgreSQL for the orders of the shop because it is simpler."
ASKED = "Which database holds the orders of the shop, and why PostgreSQL?"


def main() -> int:
    """Compile everything; with the argument `record FOLDER` only write the files of modules."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.argv[2:3] == [RECORD]:
        _record(folder, sys.argv[3])
        return 0
    sources = compiling.sources(folder)
    for _ in every_expression():
        pass
    patterns.keep()
    with tempfile.TemporaryDirectory(prefix="memory-fabric-", ignore_cleanup_errors=True) as world:
        _fire(folder, world, "SessionStart", source="startup")
        _fire(folder, world, "UserPromptSubmit", prompt=STATED)
        _fire(folder, world, "SessionStart", source="startup", session_id=ASKING)
        _python([program("compile_ahead"), folder, RECORD, world], folder, world)
    compiling.mark(folder, sources)
    return 0


def every_expression() -> Iterator[str]:
    """Yield the expressions of the program, each once it is compiled."""
    for module in map(import_module, _modules()):
        for expression, flags in _written(module):
            yield patterns.pattern(expression, flags).pattern
        for made in vars(module).values():
            if isinstance(made, Cached) and not made.function.__code__.co_argcount:
                made()  # an expression, or what one is made of
    for expression, flags in _tabled():
        yield patterns.pattern(expression, flags).pattern


def _tabled() -> Iterator[tuple[str, int]]:
    """Yield the expressions that stand in tables."""
    cues = (*standing_cues.CUES, *standing_cues.AGAINST, *standing_cues_by_language.CUES)
    yield from ((expression, patterns.IGNORECASE) for *_, expression in cues if expression)
    for form in stated_forms.FORMS:
        yield from ((expression, patterns.IGNORECASE) for expression in form.expressions)
    yield from ((form, 0) for _, form in harmless.ALWAYS)
    yield from ((shape, 0) for shape in credentials.every_shape())


def _modules() -> Iterator[str]:
    folder = os.path.dirname(os.path.abspath(__file__))
    yield "memory_fabric.text"
    for package in PACKAGES:
        for place, _, names in os.walk(os.path.join(folder, package)):
            above = os.path.relpath(place, os.path.dirname(folder)).replace(os.sep, ".")
            yield from (f"{above}.{n[:-3]}" for n in sorted(names) if n.endswith(".py"))


def _written(module: ModuleType) -> Iterator[tuple[str, int]]:
    """Yield the expressions in calls that need nothing but what the module names."""
    with open(str(module.__file__), encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id not in ("pattern", "exact") or not node.args:
            continue
        flags = patterns.IGNORECASE if node.func.id == "pattern" else 0
        try:
            found = [_value(argument, module) for argument in node.args]
        except Exception:  # noqa: BLE001 - made of what a function has: compiled on first use
            continue
        yield str(found[0]), int(found[1]) if found[1:] else flags


def _value(node: ast.expr, module: ModuleType) -> Any:
    return eval(compile(ast.Expression(node), "<expression>", "eval"), vars(module))


def _fire(folder: str, world: str, event: str, **fields: str) -> None:
    """Run a hook as the client does, in a memory of its own."""
    hook = os.path.join(os.path.dirname(folder), "hooks", "dispatch.py")
    data = {"hook_event_name": event, "session_id": "ahead", "cwd": world, **fields}
    environ = _environ(folder, world)
    command = [sys.executable, "-I", "-S", hook]
    subprocess.run(
        command, input=json.dumps(data).encode(), env=environ, timeout=TIMEOUT_S, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _python(arguments: Sequence[str], folder: str, world: str) -> None:
    command = [sys.executable, "-I", "-S", *cache_options(), "-c", *arguments]
    subprocess.run(
        command, env=_environ(folder, world), timeout=TIMEOUT_S, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _environ(folder: str, world: str) -> dict[str, str]:
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": world,
        "MEMORY_FABRIC_HOME": os.path.join(world, "memory"),
        "CLAUDE_PROJECT_DIR": world,
        "CLAUDE_PLUGIN_ROOT": os.path.dirname(folder),
        compiling.AHEAD: "1",
    }


class _Recorder(compiled_modules.Loader):
    """Notes the modules in the order in which they are ready."""

    parts: list[tuple[Any, ...]] = []
    # As they were before any was read: an edit meanwhile makes the files useless, not wrong.
    sources: compiling.Sources = {}

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        spec = module.__spec__
        if spec and spec.origin in self.sources:
            known = (*self.sources[spec.origin], spec.cached)
            is_package = spec.submodule_search_locations is not None
            self.parts.append((module.__name__, spec.origin, *known, is_package, self.code))


def _record(folder: str, world: str) -> None:
    """Write the files of modules, from what an event and a recall load in this very process."""
    _Recorder.sources = compiling.sources(folder)
    ours = [name for name in sys.modules if name.startswith("memory_fabric.")]
    for name in ours:  # what this module has loaded counts as well
        del sys.modules[name]
    sys.meta_path.insert(0, compiled_modules.Finder(folder, _Recorder))
    for name in NEEDED:
        import_module(f"memory_fabric.{name}")
    _save(folder, compiled_modules.EVERY_EVENT)
    dispatcher = sys.modules["memory_fabric.dispatcher"]
    for prompt in (ASKED, "Thanks."):
        event = {"hook_event_name": "UserPromptSubmit", "session_id": ASKING, "cwd": world}
        dispatcher.run(json.dumps({**event, "prompt": prompt}).encode(), os.environ)
    _save(folder, compiled_modules.RECALLS)


def _save(folder: str, name: str) -> None:
    """Save the modules that were noted since the last file, without those of single events."""
    parts = [part for part in _Recorder.parts if not part[0].startswith(HANDLERS)]
    _Recorder.parts.clear()
    data = compiled_modules.file_of(folder, parts)
    patterns.write(compiled_modules.path_of(folder, name), data)
