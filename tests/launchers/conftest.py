"""A plugin root, a runtime folder and an environment under tmp_path."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from launchers.installation_site import Index, Site
from launchers.support import PROMPT, make_root, make_tools, read_json, run, shim


@dataclass
class InstalledPlugin:
    """A plugin root with its runtime folder, run through hooks/launch."""

    root: str
    data: str
    path: str
    home: str
    report_path: str
    extra: dict[str, str] = field(default_factory=dict)

    def environ(self) -> dict[str, str]:
        """The client's variables, without any Python of this machine."""
        return {
            "PATH": self.path,
            "HOME": self.home,
            "CLAUDE_PLUGIN_ROOT": self.root,
            "CLAUDE_PLUGIN_DATA": self.data,
            "MEMORY_FABRIC_PYTHON_PLACES": os.path.join(self.home, "nowhere"),
            "REPORT": self.report_path,
            **self.extra,
        }

    def run_hook(
        self, data: bytes = PROMPT, without: tuple[str, ...] = (), **more: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run hooks/launch with one event on its standard input."""
        environ = {k: v for k, v in {**self.environ(), **more}.items() if k not in without}
        return run([os.path.join(self.root, "hooks", "launch")], environ, data)

    def report(self) -> Mapping[str, Any]:
        """The last report of the stand-in dispatcher; removes it."""
        found: Mapping[str, Any] = read_json(self.report_path)
        os.unlink(self.report_path)
        return found

    def remembered(self) -> str:
        """The path of the file that holds the interpreter's path."""
        return os.path.join(self.data, "interpreter")

    def python_on_path(self, name: str = "python3") -> str:
        """The path of a new shim in PATH."""
        return shim(os.path.join(self.path, name))


@pytest.fixture
def plugin(tmp_path: Path) -> InstalledPlugin:
    """A plugin without any Python on PATH; all paths contain spaces."""
    base = str(tmp_path / "a place with spaces")
    home = os.path.join(base, "home of ann")
    data = os.path.join(base, "plugin data")
    for folder in (home, data):
        os.makedirs(folder)
    return InstalledPlugin(
        root=make_root(os.path.join(base, "plugin root")),
        data=data,
        path=make_tools(os.path.join(base, "tools")),
        home=home,
        report_path=os.path.join(base, "report.json"),
    )


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A site whose installers have all ended when the test has."""
    index = Index(str(tmp_path / "wheels"))
    site = Site(str(tmp_path / "a place with spaces"), index)
    yield site
    index.open.set()
    site.finished()
    index.server.shutdown()
    index.server.server_close()
