"""Persistent memory for Claude Code: hooks, a knowledge graph, an MCP server and a command line."""

from _frozen_importlib_external import SourceFileLoader, cache_from_source

__version__ = "0.1.0"
_get_code = SourceFileLoader.get_code


def _code_of(loader, name):  # type: ignore[no-untyped-def]
    """Compile a module again if its compiled file is cut off, as on a full disk: Python would fail.

    This way it does not fail in this process, nor in any later one.
    """
    try:
        return _get_code(loader, name)
    except (EOFError, TypeError, ValueError):
        import os  # late: hooks/dispatch.py may do without

        os.unlink(cache_from_source(loader.path))
        return _get_code(loader, name)


SourceFileLoader.get_code = _code_of  # type: ignore[method-assign]
