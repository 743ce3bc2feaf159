"""The example of a handler in CONTRIBUTING.md works as it is printed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from memory_fabric.hooks import reply, table
from simulated_client import SimulatedClient

GUIDE = Path(__file__).parents[1] / "CONTRIBUTING.md"


def test_the_printed_handler_passes_the_printed_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = GUIDE.read_text("utf-8")
    handler, test = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    module = ModuleType("memory_fabric.hooks.handlers.open_points")
    exec(handler, vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    (row,) = re.findall(r'`"TaskCompleted": (_entry\([^`]+\))`', text)
    rows = {**table.HANDLERS, "TaskCompleted": eval(row, vars(table))}
    monkeypatch.setattr(table, "HANDLERS", rows)
    monkeypatch.setattr(reply, "CONTEXT_EVENTS", reply.CONTEXT_EVENTS | {"TaskCompleted"})
    printed = {"SimulatedClient": SimulatedClient}
    exec(test, printed)
    (name,) = (name for name in printed if name.startswith("test_"))

    printed[name](SimulatedClient(tmp_path))  # type: ignore[arg-type]
