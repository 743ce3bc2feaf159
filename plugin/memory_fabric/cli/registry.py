"""The table of commands, in the order of `--help` and docs/commands.md."""

from __future__ import annotations

from memory_fabric.values import Value

ASK, CHANGE, MAINTAIN, SWITCH, PROGRAMS = (
    "Ask the memory",
    "Change the memory",
    "Look after it",
    "Switches",
    "For programs",
)


class Command(Value):
    """A command with the module and function that run it.

    `says` repeats the first line of the function's docstring, so that the list of commands need
    not import the module; if it is empty, the list imports it.
    """

    name: str
    module: str
    function: str
    panel: str
    says: str = ""


COMMANDS = (
    Command(
        "recall",
        "commands.recall",
        "recall",
        ASK,
        "Search memories, best match first; without a query, list the newest.",
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
        "Show where a memory comes from, and which sessions were given it.",
    ),
    Command(
        "viz",
        "commands.viz",
        "viz",
        ASK,
        "Show the memory as a page in the browser, or its graph as text.",
    ),
    Command(
        "serve",
        "commands.serve",
        "serve",
        ASK,
        "Serve the page, ingest, recall and MCP over HTTP until Ctrl-C.",
    ),
    Command(
        "stale",
        "commands.stale_prune",
        "stale",
        ASK,
        "List memories that have not been mentioned for long, and those whose files have changed.",
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
        "List the rules that are bound to a command, a path or an activity, and what they do.",
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
        "List what is due for review: candidates, contradictions, stale memories, near duplicates.",
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
        "Give an entity other names by which it is also found, or show them.",
    ),
    Command(
        "status",
        "commands.status",
        "status",
        MAINTAIN,
        "Show the state of the three tiers, recall, capture, sharing and forwarding.",
    ),
    Command(
        "doctor",
        "doctor.command",
        "doctor",
        MAINTAIN,
        "Check everything that memory depends on, with a remedy for each finding.",
    ),
    Command(
        "queue",
        "commands.queue",
        "queue",
        MAINTAIN,
        "List texts of other programs (POST /v1/memory/ingest) that are not processed yet.",
    ),
    Command(
        "sync",
        "commands.sync",
        "sync",
        MAINTAIN,
        "Bring the queue, the journal and MEMORY.md up to date now.",
    ),
    Command(
        "check",
        "commands.check_repair",
        "check",
        MAINTAIN,
        "Check stored data for damage and disorder, without changing anything.",
    ),
    Command(
        "repair",
        "commands.check_repair",
        "repair",
        MAINTAIN,
        "Rebuild damaged or lost databases, indexes and journals.",
    ),
    Command(
        "backup",
        "commands.backup",
        "backup",
        MAINTAIN,
        "Make a verified copy of each database in `backups/` next to it, and keep the newest five.",
    ),
    Command(
        "learn",
        "commands.learn",
        "learn",
        MAINTAIN,
        "Read in the past sessions of Claude Code, Codex and Qwen Code, after a preview.",
    ),
    Command(
        "import",
        "commands.import_export",
        "import_file",
        MAINTAIN,
        "Import memories of other programs: claude-mem, basic-memory, mem0, CLAUDE.md and others.",
    ),
    Command(
        "export",
        "commands.import_export",
        "export",
        MAINTAIN,
        "Write the graph in the format of the reference server, or all memories as Markdown.",
    ),
    Command(
        "domains",
        "commands.domains",
        "domains",
        MAINTAIN,
        "Count memories by domain, show the configuration, find relations between domains.",
    ),
    Command(
        "worth",
        "commands.worth",
        "worth",
        MAINTAIN,
        "Show what sessions were told, what it cost, and what of it was used.",
    ),
    Command(
        "project",
        "commands.project",
        "project",
        MAINTAIN,
        "Show which project this folder belongs to, list all, or change it.",
    ),
    Command(
        "completion",
        "completion",
        "completion",
        MAINTAIN,
        "Print the script that completes commands, options and values in a shell.",
    ),
    Command(
        "demo",
        "entry_points",
        "demo",
        MAINTAIN,
        "Run an example of two sessions through the real hooks, in a temporary home.",
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
        "Turn recall and capture on again; warn if another setting keeps them off.",
    ),
    Command(
        "share",
        "commands.share",
        "share",
        SWITCH,
        "Share this project's records of scope team by git, and read those of others.",
    ),
    Command(
        "team",
        "commands.team",
        "team",
        SWITCH,
        "Share this project's memories with others through a log in PostgreSQL.",
    ),
    Command(
        "semantic",
        "commands.semantic",
        "semantic",
        SWITCH,
        "Install or remove the model by which recall also finds what shares no word (170 MB).",
    ),
    Command(
        "setup",
        "commands.setup",
        "setup",
        SWITCH,
        "Add the hooks to a settings file, for clients without plugins.",
    ),
    Command(
        "uninstall",
        "commands.uninstall",
        "uninstall",
        SWITCH,
        "Revert setup, delete the memory on request, and show how to uninstall the plugin.",
    ),
    Command(
        "hook",
        "entry_points",
        "hook",
        PROGRAMS,
        "Answer one hook event from standard input, like `hooks/launch`, which is faster.",
    ),
    Command(
        "mcp",
        "entry_points",
        "mcp",
        PROGRAMS,
        "Serve the memory to an MCP client on standard input and output.",
    ),
)
