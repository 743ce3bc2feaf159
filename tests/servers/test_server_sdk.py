"""The light way to the SDK, and the whole way where the light one does not work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from servers.doors import environment

BREAK = """
import sys
class RefusesOnce:
    refused = False
    def find_spec(self, name, path=None, target=None):
        if name == "mcp.server.lowlevel.server" and not self.refused:
            self.refused = True
            raise ImportError("not without the package files")
sys.meta_path.insert(0, RefusesOnce())
"""
LOAD = """
import sys
from memory_fabric.servers.sdk import load
load(); load()
import memory_fabric.servers.mcp_server
print("mcp.client" in sys.modules)
"""


@pytest.mark.parametrize(("before", "client_loaded"), [("", "False"), (BREAK, "True")])
def test_the_server_loads_lightly_or_wholly(
    tmp_path: Path, before: str, client_loaded: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", before + LOAD],
        capture_output=True,
        env=environment(tmp_path / "home"),
        timeout=60,
        check=True,
    )

    assert done.stdout.decode().strip() == client_loaded
