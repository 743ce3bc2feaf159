"""The table of all commands, in the order in which `--help` and docs/commands.md list them."""

import os
import re
from typing import NamedTuple


class Command(NamedTuple):
    """A command of the program, its module, and its section in `--help`."""

    name: str
    module: str
    panel: str

    @property
    def function(self) -> str:
        """The name of the command's function: the command's name, except for `import`."""
        return {"import": "import_file"}.get(self.name, self.name)

    @property
    def says(self) -> str:
        """The first line of the function's docstring, read from the source without an import."""
        path = os.path.join(os.path.dirname(__file__), *self.module.split(".")) + ".py"
        with open(path, encoding="utf-8") as source:
            text = source.read()
        start = rf'^def {self.function}\(.*?^    """(.*?)("""|$)'
        found = re.search(start, text, re.MULTILINE | re.DOTALL)
        return found[1] if found else ""


# The commands of each section of `--help`; `COMMAND=MODULE` if the module's name differs.
_PANELS = {
    "Ask the memory": "recall history=recall why=recall viz=serve",
    "Change the memory": "remember edit=remember forget pin=remember rules review undo=recall",
    "Look after it": "status doctor=status backup=upkeep",
    "Bring in and take out": "learn import=import_export export=import_export",
    "Share it": "share team serve",
    "Set up and switch": "setup off=switches on=switches project uninstall",
    "For particular cases": "load=recall stale=review prune=review domains=project worth=status "
    "candidates=review merge=remember alias=remember queue=upkeep sync check=upkeep repair=upkeep "
    "semantic=switches completion=switches demo=programs",
    "For programs": "hook=programs mcp=programs statusline=programs",
}
COMMANDS = tuple(
    Command(name, f"commands.{module or name}", panel)
    for panel, words in _PANELS.items()
    for name, _, module in (word.partition("=") for word in words.split())
)
