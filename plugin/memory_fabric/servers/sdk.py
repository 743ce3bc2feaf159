"""The SDK's server side without its client side: a third off the time to the first reply.

`import mcp` runs package files that load the client, the high-level server and an HTTP client.
The modules of the low-level server need none of them. Here the packages are put into `sys.modules`
with their search path only, so that importing a module below them does not run those files.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from types import ModuleType

PACKAGES = ("mcp", "mcp.server", "mcp.server.lowlevel")
PROBE = "mcp.server.lowlevel.server"


def load() -> None:
    """Import the low-level server lightly, or wholly where this SDK release does not allow it."""
    if "mcp" in sys.modules:
        return
    try:
        _bare_packages()
        __import__(PROBE)
    except (ImportError, AttributeError):
        for name in [n for n in sys.modules if n == "mcp" or n.startswith("mcp.")]:
            del sys.modules[name]
        __import__(PROBE)


def _bare_packages() -> None:
    path = None
    for name in PACKAGES:
        spec = PathFinder.find_spec(name, path)
        if spec is None or spec.submodule_search_locations is None:
            raise ImportError(f"{name} is not installed", name=name)
        package = ModuleType(name)
        package.__spec__ = spec
        package.__path__ = path = list(spec.submodule_search_locations)
        sys.modules[name] = package
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, package)
