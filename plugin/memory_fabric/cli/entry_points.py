"""The commands hook, mcp and demo, which do not load the rest of the command line."""

from __future__ import annotations


def run_program(name: str) -> int:
    """Run the command `hook` or `mcp`; both end the process themselves."""
    return hook() if name == "hook" else mcp()


def hook() -> int:
    """Answer one hook event from standard input, like `hooks/launch`, which is faster."""
    from memory_fabric import dispatcher

    dispatcher.main()
    return 0


def mcp() -> int:
    """Serve the memory to an MCP client on standard input and output."""
    from memory_fabric.servers.mcp import stdio_server

    stdio_server.main()


def demo() -> int:
    """Run an example of two sessions through the real hooks, in a temporary home.

    Exit code 1 if the second session was not given the memory. `scripts/demo` does the same and
    needs only Python.
    """
    from memory_fabric.cli.demo import run_demo as story

    return story.main()
