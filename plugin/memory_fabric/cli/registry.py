"""Table of all commands, in the order in which `--help` and docs/commands.md list them."""

from typing import NamedTuple


class Command(NamedTuple):
    """A command of the program."""

    name: str
    module: str
    function: str
    panel: str  # its section in `--help`
    says: str  # the docstring's first line, repeated so that `--help` imports no command


# Commands whose module has another name, by module.
_SHARED_MODULES = {
    "edit": "pin merge alias",
    "history": "why undo",
    "import_export": "import export",
    "project": "domains",
    "programs": "demo hook mcp statusline",
    "recall": "load",
    "review": "candidates stale prune",
    "serve": "viz",
    "setup": "uninstall",
    "status": "doctor worth",
    "switches": "off on semantic completion",
    "upkeep": "check repair backup queue",
}
_MODULES = {name: module for module, names in _SHARED_MODULES.items() for name in names.split()}
# Commands whose name is a Python keyword, with their functions.
_FUNCTIONS = {"import": "import_file"}
# The sections of `--help`, with the commands and the first lines of their docstrings.
_PANELS = {
    "Ask the memory": {
        "recall": "Search memories, best match first, or list the newest.",
        "history": "Show what changed and who changed it, newest first.",
        "why": "Show where a memory comes from and which sessions were given it.",
        "viz": "Show the memory as a page in the browser, or its graph as text.",
    },
    "Change the memory": {
        "remember": "Remember a decision, a rule, what worked or failed.",
        "edit": "Change the words, type, scope or reason of a memory.",
        "forget": "Show what would be forgotten; with `--yes` forget it.",
        "pin": "Give a memory to every session at its start, before newer ones.",
        "rules": "List the rules bound to commands, paths or activities.",
        "review": "List what waits for your decision.",
        "undo": "Undo a change; what others added or forgot since then stays.",
    },
    "Look after it": {
        "status": "Show the state of tiers, recall, capture, sharing, forwarding.",
        "doctor": "Check all that memory depends on, and name remedies.",
        "backup": "Make a verified copy of each database; the newest five are kept.",
    },
    "Bring in and take out": {
        "learn": "Read in the past sessions of Claude Code, Codex and Qwen Code, after a preview.",
        "import": "Import memories of claude-mem, basic-memory, mem0, CLAUDE.md and others.",
        "export": "Write the graph as the reference server does, or all memories as Markdown.",
    },
    "Share it": {
        "share": "Share this project's team records by git.",
        "team": "Share memories with others through a log in PostgreSQL.",
        "serve": "Serve the page, ingest, recall and MCP over HTTP until Ctrl-C.",
    },
    "Set up and switch": {
        "setup": "Add hooks and MCP server to the client's files, for clients without plugins.",
        "off": "Turn recall and capture off everywhere; stored memories stay.",
        "on": "Turn recall and capture on again.",
        "project": "Show or change which project this folder belongs to.",
        "uninstall": "Revert setup, delete the memory if asked, show the last steps.",
    },
    "For particular cases": {
        "load": "Show the memories that a session is given at its start.",
        "stale": "List memories not mentioned for long, or whose files changed.",
        "prune": "Show what `stale` shows, ask, and then remove exactly that.",
        "domains": "Count memories by domain, and show how domains are related.",
        "worth": "Show what came of memory week by week, and what it cost.",
        "candidates": "List sentences that were heard and not noted.",
        "merge": "Show which entities would be merged; with `--yes` merge them.",
        "alias": "Show or add other names by which an entity is found.",
        "queue": "List texts of other programs that are not processed yet.",
        "sync": "Bring the queue, the journal and MEMORY.md up to date now.",
        "check": "Check stored data for damage and disorder; change nothing.",
        "repair": "Rebuild damaged or lost databases, indexes and journals.",
        "semantic": "Install or remove the model that finds by meaning (170 MB).",
        "completion": "Print the script for completion in bash, zsh or fish.",
        "demo": "Tell a story of two days through the real hooks.",
    },
    "For programs": {
        "hook": "Answer one hook event from standard input.",
        "mcp": "Serve the memory to an MCP client on standard input and output.",
        "statusline": "Print one line for the client's status bar.",
    },
}
COMMANDS = tuple(
    Command(name, f"commands.{_MODULES.get(name, name)}", _FUNCTIONS.get(name, name), panel, says)
    for panel, commands in _PANELS.items()
    for name, says in commands.items()
)
