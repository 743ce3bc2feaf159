"""Commands that programs start, and the demonstration: nothing here loads the command line."""

from __future__ import annotations


def open_door(name: str) -> int:
    """Answer hook events or serve MCP; both end the process themselves."""
    return hook() if name == "hook" else mcp()


def hook() -> int:
    """Answer one hook event from standard input, as `hooks/launch` does, which is quicker."""
    from memory_fabric import dispatcher

    dispatcher.main()
    return 0


def mcp() -> int:
    """Serve the graph to an MCP client on standard input and output."""
    from memory_fabric.servers.mcp import stdio_server

    stdio_server.main()


def demo() -> int:
    """Tell a two-session story through the real hooks, on a temporary home.

    Exit code 1 when the memory did not arrive. `scripts/demo` does the same with nothing but
    Python.
    """
    from memory_fabric.cli.demo import run_demo as story

    return story.main()
