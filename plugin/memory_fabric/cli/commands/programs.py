"""Commands hook, mcp, statusline and demo; each imports its code only when it runs."""


def hook() -> int:
    """Answer one hook event from standard input.

    `hooks/launch` does the same faster.
    """
    from memory_fabric.hooks import dispatcher

    dispatcher.main()
    return 0


def mcp() -> int:
    """Serve the memory to an MCP client on standard input and output."""
    from memory_fabric.servers.mcp import stdio_server

    stdio_server.main()


def statusline() -> int:
    """Print one line for the client's status bar.

    It says how many records are stored, were shown in this session, and await review. It never
    fails, and ends within two seconds. docs/configuration.md says how Claude Code runs it.
    """
    from memory_fabric.hooks.session import status_line

    status_line.main()
    return 0


def demo() -> int:
    """Demonstrate two days of work with the real hooks.

    It uses a temporary home, and checks what it claims. Exit code 1 if a claim is false.
    """
    from memory_fabric.cli import demo as story

    return story.main()
