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
    """A command: the module of this package and the function in it that does the work."""

    name: str
    module: str
    function: str
    panel: str


COMMANDS = (
    Command("recall", "asking", "recall", ASK),
    Command("load", "asking", "load", ASK),
    Command("history", "tracing", "history", ASK),
    Command("why", "tracing", "why", ASK),
    Command("stale", "aging", "stale", ASK),
    Command("remember", "keeping", "remember", KEEP),
    Command("forget", "forgetting", "forget", KEEP),
    Command("pin", "keeping", "pin", KEEP),
    Command("prune", "aging", "prune", KEEP),
    Command("candidates", "waiting", "candidates", KEEP),
    Command("undo", "undoing", "undo", KEEP),
    Command("merge", "merging", "merge", KEEP),
    Command("alias", "merging", "alias", KEEP),
    Command("status", "state", "status", CARE),
    Command("doctor", "checking", "doctor", CARE),
    Command("sync", "upkeep", "sync", CARE),
    Command("check", "upkeep", "check", CARE),
    Command("repair", "upkeep", "repair", CARE),
    Command("backup", "upkeep", "backup", CARE),
    Command("import", "exchanging", "import_file", CARE),
    Command("export", "exchanging", "export", CARE),
    Command("domains", "domains", "domains", CARE),
    Command("project", "state", "project", CARE),
    Command("demo", "doors", "demo", CARE),
    Command("off", "switching", "off", SWITCH),
    Command("on", "switching", "on", SWITCH),
    Command("share", "sharing", "share", SWITCH),
    Command("semantic", "meaning", "semantic", SWITCH),
    Command("uninstall", "leaving", "uninstall", SWITCH),
    Command("hook", "doors", "hook", DOORS),
    Command("mcp", "doors", "mcp", DOORS),
)
