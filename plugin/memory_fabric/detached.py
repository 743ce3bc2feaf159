"""Start of a process of this package that outlives its session; nobody waits for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from memory_fabric import processes


def program(module: str) -> str:
    """Return the program that runs `main()` of a module of this package, given its folder."""
    package, _, name = f"memory_fabric.{module}".rpartition(".")
    return (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        f"from {package} import {name}; sys.exit({name}.main())"
    )


def start(module: str, environ: Mapping[str, str]) -> int:
    """Start a module's `main()` detached and return the process id.

    A key belongs into `environ` (all of the process's environment), not into arguments, which every
    user can read. Standard streams are /dev/null. Raises OSError.
    """
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command = [sys.executable, "-I", "-S", *cache_options(), "-c", program(module), folder]
    return processes.start_detached(command, environ)


def cache_options() -> list[str]:
    """Return Python's options for the folder of compiled files, where it is not the usual one."""
    return ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
