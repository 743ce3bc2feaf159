"""The table of commands: its order is the order of `--help` and of docs/commands.md."""

from __future__ import annotations

from memory_fabric.values import Value

ASK, KEEP, CARE, SWITCH, DOORS = (
    "Ask the memory",
    "Change the memory",
    "Look after it",
    "Switches",
    "For programs",
)


class Command(Value):
    """A command: the module of this package and the function in it that does the work.

    `says` is the first line of that function's docstring: the list of commands loads none of them.
    Without it the list loads the module.
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
        "Find what is remembered, best first; without a query, the newest.",
    ),
    Command("load", "commands.load", "load", ASK, "Show what a session is given at its start."),
    Command(
        "history",
        "commands.history",
        "history",
        ASK,
        "Show what changed and who changed it, newest first.",
    ),
    Command(
        "why",
        "commands.why",
        "why",
        ASK,
        "Say where a memory comes from, and who was given it.",
    ),
    Command(
        "viz",
        "commands.viz",
        "viz",
        ASK,
        "Look at the memory: a page in the browser, or the graph as text.",
    ),
    Command(
        "serve",
        "commands.serve",
        "serve",
        ASK,
        "Serve the memory over HTTP: the page, texts that programs bring in, MCP; Ctrl-C ends it.",
    ),
    Command(
        "stale",
        "commands.stale",
        "stale",
        ASK,
        "Show what nobody has spoken of for long, oldest first.",
    ),
    Command(
        "remember",
        "commands.remember",
        "remember",
        KEEP,
        "Remember a decision, a rule, what worked or failed.",
    ),
    Command(
        "forget",
        "commands.forget",
        "forget",
        KEEP,
        "Show what would be forgotten; with `--yes` forget it.",
    ),
    Command(
        "pin",
        "commands.pin",
        "pin",
        KEEP,
        "Give a memory to every session at its start, before newer ones.",
    ),
    Command(
        "prune",
        "commands.prune",
        "prune",
        KEEP,
        "Show what `stale` shows, ask, and then take exactly that out.",
    ),
    Command(
        "candidates",
        "commands.candidates",
        "candidates",
        KEEP,
        "List what was heard once and is no memory yet, and rules that were corrected twice.",
    ),
    Command(
        "undo",
        "commands.undo",
        "undo",
        KEEP,
        "Take back a change; what others added or forgot since stays.",
    ),
    Command(
        "merge",
        "commands.merge",
        "merge",
        KEEP,
        "Show which entities would become one; with `--yes` merge them.",
    ),
    Command(
        "alias",
        "commands.alias",
        "alias",
        KEEP,
        "Give an entity other names by which it is found, too; without any, show them.",
    ),
    Command(
        "status",
        "commands.status",
        "status",
        CARE,
        "Show the three tiers, and what is wrong with them.",
    ),
    Command(
        "doctor",
        "commands.doctor",
        "doctor",
        CARE,
        "Check what memory stands on, by area, each finding with what helps.",
    ),
    Command(
        "queue",
        "commands.queue",
        "queue",
        CARE,
        "Show what other programs sent (POST /v1/memory/ingest) that is not worked off.",
    ),
    Command(
        "sync", "commands.sync", "sync", CARE, "Bring queue, journal and MEMORY.md up to date now."
    ),
    Command(
        "check",
        "commands.check",
        "check",
        CARE,
        "Look for damage and disorder in what is stored; nothing is changed.",
    ),
    Command(
        "repair",
        "commands.repair",
        "repair",
        CARE,
        "Rebuild a damaged or lost database, and journals that were lost.",
    ),
    Command(
        "backup",
        "commands.backup",
        "backup",
        CARE,
        "Make a verified copy of each database, in `backups/` beside it; the five newest are kept.",
    ),
    Command(
        "import",
        "commands.import_file",
        "import_file",
        CARE,
        "Merge the file of the reference knowledge-graph server into memory; what is there stays.",
    ),
    Command(
        "export",
        "commands.export",
        "export",
        CARE,
        "Write the graph of this project and the user as a knowledge graph's file.",
    ),
    Command(
        "domains",
        "commands.domains",
        "domains",
        CARE,
        "Count by domain, show who has one, find what reaches across.",
    ),
    Command(
        "project",
        "commands.project",
        "project",
        CARE,
        "Show which project this folder belongs to, list all, or settle it by hand.",
    ),
    Command(
        "completion",
        "commands.completion",
        "completion",
        CARE,
        "Print the script that completes commands, options and values in a shell.",
    ),
    Command(
        "demo",
        "entry_points",
        "demo",
        CARE,
        "Tell a two-session story through the real hooks, on a temporary home.",
    ),
    Command(
        "off",
        "commands.on_off",
        "off",
        SWITCH,
        "Turn recall and capture off, everywhere; what is stored stays.",
    ),
    Command(
        "on",
        "commands.on_off",
        "on",
        SWITCH,
        "Turn recall and capture on again; it says so when something else still keeps them off.",
    ),
    Command(
        "share",
        "commands.share",
        "share",
        SWITCH,
        "Share this project's records of scope team by git, and be told what others wrote.",
    ),
    Command(
        "semantic",
        "commands.semantic",
        "semantic",
        SWITCH,
        "Rank recall by nearness of meaning, too: install the model (about 100 MB), or remove it.",
    ),
    Command(
        "setup",
        "commands.setup",
        "setup",
        SWITCH,
        "Set up the hooks in a settings file, where plugins cannot be installed.",
    ),
    Command(
        "uninstall",
        "commands.uninstall",
        "uninstall",
        SWITCH,
        "Take back what was set up, delete what you do not keep, say how to take the plugin away.",
    ),
    Command(
        "hook",
        "entry_points",
        "hook",
        DOORS,
        "Answer one hook event from standard input, as `hooks/launch` does, which is quicker.",
    ),
    Command(
        "mcp",
        "entry_points",
        "mcp",
        DOORS,
        "Serve the graph to an MCP client on standard input and output.",
    ),
)
