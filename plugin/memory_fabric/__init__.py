"""Persistent memory for Claude Code: hooks, a knowledge graph, an MCP server and a command line."""

from _frozen_importlib_external import SourceFileLoader, cache_from_source

__version__ = "0.1.0"
_get_code = SourceFileLoader.get_code


def _code_of(loader, name):  # type: ignore[no-untyped-def]
    """Load a module's code; if its `.pyc` is truncated (full disk), delete and recompile it."""
    try:
        return _get_code(loader, name)
    except (EOFError, TypeError, ValueError):
        import os  # imported late: rarely needed

        os.unlink(cache_from_source(loader.path))
        return _get_code(loader, name)


SourceFileLoader.get_code = _code_of  # type: ignore[method-assign]
