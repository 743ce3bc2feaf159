"""The table of commands, in the order of `--help` and docs/commands.md."""

from __future__ import annotations

from typing import NamedTuple

ASK, CHANGE, MAINTAIN, FILES, SWITCH, SHARE, PROGRAMS = (
    "Ask the memory",
    "Change the memory",
    "Look after it",
    "Bring in and take out",
    "Set up and switch",
    "Share it",
    "For programs",
)


class Command(NamedTuple):
    """A command with the module and function that run it.

    `says` repeats the first line of the function's docstring, so that the list of commands need
    not import the module. 64 characters fill a line of 80 columns.
    """

    name: str
    module: str
    function: str
    panel: str
    says: str


COMMANDS = (
    Command(
        "recall",
        "commands.recall",
        "recall",
        ASK,
        "Search memories, best match first, or list the newest.",
    ),
    Command(
        "load",
        "commands.load",
        "load",
        ASK,
        "Show the memories that a session is given at its start.",
    ),
    Command(
        "history",
        "commands.why_history",
        "history",
        ASK,
        "Show what changed and who changed it, newest first.",
    ),
    Command(
        "why",
        "commands.why_history",
        "why",
        ASK,
        "Show where a memory comes from and which sessions were given it.",
    ),
    Command(
        "viz",
        "commands.viz",
        "viz",
        ASK,
        "Show the memory as a page in the browser, or its graph as text.",
    ),
    Command(
        "stale",
        "commands.stale_prune",
        "stale",
        ASK,
        "List memories not mentioned for long, or whose files changed.",
    ),
    Command(
        "domains",
        "commands.domains",
        "domains",
        ASK,
        "Count memories by domain, and show how domains are related.",
    ),
    Command(
        "worth",
        "commands.worth",
        "worth",
        ASK,
        "Show what sessions were told, what it cost, and what was used.",
    ),
    Command(
        "remember",
        "commands.remember",
        "remember",
        CHANGE,
        "Remember a decision, a rule, what worked or failed.",
    ),
    Command(
        "edit",
        "commands.edit",
        "edit",
        CHANGE,
        "Change the words, type, scope or reason of a memory.",
    ),
    Command(
        "forget",
        "commands.forget",
        "forget",
        CHANGE,
        "Show what would be forgotten; with `--yes` forget it.",
    ),
    Command(
        "pin",
        "commands.pin",
        "pin",
        CHANGE,
        "Give a memory to every session at its start, before newer ones.",
    ),
    Command(
        "rules",
        "commands.rules",
        "rules",
        CHANGE,
        "List the rules bound to commands, paths or activities.",
    ),
    Command(
        "prune",
        "commands.stale_prune",
        "prune",
        CHANGE,
        "Show what `stale` shows, ask, and then remove exactly that.",
    ),
    Command(
        "candidates",
        "commands.candidates",
        "candidates",
        CHANGE,
        "List sentences that were heard and not noted.",
    ),
    Command(
        "review",
        "commands.candidates",
        "review",
        CHANGE,
        "List what waits for your decision.",
    ),
    Command(
        "undo",
        "commands.undo",
        "undo",
        CHANGE,
        "Undo a change; what others added or forgot since then stays.",
    ),
    Command(
        "merge",
        "commands.merge",
        "merge",
        CHANGE,
        "Show which entities would be merged; with `--yes` merge them.",
    ),
    Command(
        "alias",
        "commands.merge",
        "alias",
        CHANGE,
        "Show or add other names by which an entity is found.",
    ),
    Command(
        "status",
        "commands.status",
        "status",
        MAINTAIN,
        "Show the state of tiers, recall, capture, sharing, forwarding.",
    ),
    Command(
        "doctor",
        "doctor.command",
        "doctor",
        MAINTAIN,
        "Check all that memory depends on, and name remedies.",
    ),
    Command(
        "queue",
        "commands.upkeep.queue",
        "queue",
        MAINTAIN,
        "List texts of other programs that are not processed yet.",
    ),
    Command(
        "sync",
        "commands.upkeep.sync",
        "sync",
        MAINTAIN,
        "Bring the queue, the journal and MEMORY.md up to date now.",
    ),
    Command(
        "check",
        "commands.upkeep.check_repair",
        "check",
        MAINTAIN,
        "Check stored data for damage and disorder; change nothing.",
    ),
    Command(
        "repair",
        "commands.upkeep.check_repair",
        "repair",
        MAINTAIN,
        "Rebuild damaged or lost databases, indexes and journals.",
    ),
    Command(
        "backup",
        "commands.upkeep.backup",
        "backup",
        MAINTAIN,
        "Make a verified copy of each database; the newest five are kept.",
    ),
    Command(
        "learn",
        "commands.learn",
        "learn",
        FILES,
        "Read in the past sessions of Claude Code, Codex and Qwen Code, after a preview.",
    ),
    Command(
        "import",
        "commands.import_export",
        "import_file",
        FILES,
        "Import memories of other programs: claude-mem, basic-memory, mem0, CLAUDE.md and others.",
    ),
    Command(
        "export",
        "commands.import_export",
        "export",
        FILES,
        "Write the graph in the format of the reference server, or all memories as Markdown.",
    ),
    Command(
        "share",
        "commands.share",
        "share",
        SHARE,
        "Share this project's team records by git.",
    ),
    Command(
        "team",
        "commands.team",
        "team",
        SHARE,
        "Share memories with others through a log in PostgreSQL.",
    ),
    Command(
        "serve",
        "commands.serve",
        "serve",
        SHARE,
        "Serve the page, ingest, recall and MCP over HTTP until Ctrl-C.",
    ),
    Command(
        "setup",
        "commands.setup",
        "setup",
        SWITCH,
        "Add hooks and MCP server to the client's files, for clients without plugins.",
    ),
    Command(
        "off",
        "commands.on_off",
        "off",
        SWITCH,
        "Turn recall and capture off everywhere; stored memories stay.",
    ),
    Command(
        "on",
        "commands.on_off",
        "on",
        SWITCH,
        "Turn recall and capture on again.",
    ),
    Command(
        "project",
        "commands.project",
        "project",
        SWITCH,
        "Show or change which project this folder belongs to.",
    ),
    Command(
        "semantic",
        "commands.semantic",
        "semantic",
        SWITCH,
        "Install or remove the model that finds by meaning (170 MB).",
    ),
    Command(
        "completion",
        "completion",
        "completion",
        SWITCH,
        "Print the script for completion in bash, zsh or fish.",
    ),
    Command(
        "demo",
        "entry_points",
        "demo",
        SWITCH,
        "Tell a story of two days through the real hooks.",
    ),
    Command(
        "uninstall",
        "commands.uninstall",
        "uninstall",
        SWITCH,
        "Revert setup, delete the memory if asked, show the last steps.",
    ),
    Command(
        "hook",
        "entry_points",
        "hook",
        PROGRAMS,
        "Answer one hook event from standard input.",
    ),
    Command(
        "mcp",
        "entry_points",
        "mcp",
        PROGRAMS,
        "Serve the memory to an MCP client on standard input and output.",
    ),
    Command(
        "statusline",
        "entry_points",
        "statusline",
        PROGRAMS,
        "Print one line for the client's status bar: records known, told this session, to review.",
    ),
)
