"""The commands hook, mcp and demo, which do not load the rest of the command line."""

from __future__ import annotations


def run_program(name: str) -> int:
    """Run the command `hook` or `mcp`; both end the process themselves."""
    return hook() if name == "hook" else mcp()


def hook() -> int:
    """Answer one hook event from standard input.

    `hooks/launch` does the same faster.
    """
    from memory_fabric import dispatcher

    dispatcher.main()
    return 0


def mcp() -> int:
    """Serve the memory to an MCP client on standard input and output."""
    from memory_fabric.servers.mcp import stdio_server

    stdio_server.main()


def demo() -> int:
    """Tell a story of two days through the real hooks.

    It works in a temporary home and leaves nothing behind. Exit code 1 if anything differs from
    what it claims. `scripts/demo` does the same and needs only Python.
    """
    from memory_fabric.cli.demo import run_demo as story

    return story.main()
