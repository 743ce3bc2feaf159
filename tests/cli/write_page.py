"""Writes docs/commands.md anew from what the commands say of themselves.

PYTHONPATH=plugin:tests python -m cli.write_page
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from memory_fabric.cli.app import build
from memory_fabric.cli.commands import COMMANDS
from memory_fabric.cli.helping import divided, fenced

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
WIDTH = 100
# Stands for a space at which no line ends.
HELD = "\x1f"

HEAD = """\
# Commands

`memory-fabric` lies in `bin/` of the plugin. Claude Code has it on the PATH of its own shell tool;
for your shell, `bin/memory-fabric setup --shell` links it into a folder of your PATH. It works on
the project of the current folder.

Every command has `--help` (`-h`), which says what stands here; `memory-fabric --version` says which
release this is. `--json` answers for programs. Exit codes: **0** done, **1** it failed, **2** the
command was used wrongly, **3** nothing was found. What goes wrong is one line on standard error,
with what helps.
"""


def page() -> str:
    """The whole page."""
    known = typer.main.get_command(build()).commands  # type: ignore[attr-defined]
    parts, panel = [HEAD], ""
    for command in COMMANDS:
        if command.panel != panel:
            panel = command.panel
            parts.append(f"## {panel}\n")
        parts += sections(known[command.name], command.name, "###")
    return "\n".join(parts)


def sections(command: Any, name: str, head: str) -> Iterator[str]:
    """The section of a command, and those of the commands below it."""
    text = "\n\n".join(filter(None, (command.help, command.epilog)))
    told = divided(text)
    listed = "\n".join(filter(None, map(_item, command.params)))
    blocks = [f"{head} {name}", _usage(command, name), _paragraphs(told.prose), listed]
    yield "\n\n".join(filter(None, [*blocks, _paragraphs(told.examples)])) + "\n"
    for below, other in getattr(command, "commands", {}).items():
        yield from sections(other, f"{name} {below}", head + "#")


def _usage(command: Any, name: str) -> str:
    words = ["memory-fabric", name, *(_place(p) for p in command.params if _is_argument(p))]
    if hasattr(command, "commands"):
        words.append("COMMAND")
    return f"`{' '.join(words)}`"


def _place(argument: Any) -> str:
    """An argument as the usage line shows it: what may be left out in brackets."""
    shown = _named(argument)
    if argument.nargs != 1 and not shown.endswith("..."):
        shown += "..."
    return shown if argument.required or shown.startswith("[") else f"[{shown}]"


def _item(parameter: Any) -> str:
    """An argument or option as an item of a list; empty for `--help` and what is hidden."""
    if getattr(parameter, "hidden", False) or "--help" in parameter.opts:
        return ""
    if _is_argument(parameter):
        name = _named(parameter)
    else:
        name = ", ".join((*parameter.opts, *parameter.secondary_opts))
        name += "" if parameter.is_flag else f" {_named(parameter)}"
    said = " ".join((parameter.help or "").split())
    return _wrapped(f"- `{name}`: {said}{_default(parameter)}".rstrip(": "), "  ")


def _named(parameter: Any) -> str:
    """What stands for a value: as stated, or the choices, or the name."""
    if parameter.metavar:
        return str(parameter.metavar)
    shown = str(
        parameter.get_help_record(typer.Context(typer.main.get_command(build(("why",)))))[0]
    )
    choices = re.search(r"<(.+\|.+)>", shown)
    if choices:
        return choices.group(1)
    return str(parameter.name).upper().replace("_", "-")


def _default(parameter: Any) -> str:
    value = parameter.default
    value = getattr(value, "value", value)
    if not value or callable(value) or isinstance(value, bool) or parameter.show_default is False:
        return ""
    return f" (default: {value})"


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def _paragraphs(text: str) -> str:
    """Paragraphs at the width of a page, pages of docs/ linked, examples between fences."""
    parts = fenced(text).split("\n\n")
    return "\n\n".join(p if p.startswith("```") else _wrapped(_linked(p)) for p in parts)


def _linked(text: str) -> str:
    return re.sub(r"`?\bdocs/([a-z-]+\.md)(#[a-z-]+)?`?", r"[docs/\1](\1\2)", text)


def _wrapped(text: str, indent: str = "") -> str:
    if re.match(r"[-*] ", text) and not indent:  # a list of its own
        return text
    parts = " ".join(text.split()).split("`")
    parts[0::2] = [re.sub(r"(?<![\w-])--[a-z][a-z-]+", r"`\g<0>`", part) for part in parts[0::2]]
    # What stands between back-ticks stays on one line.
    parts = "`".join(parts).split("`")
    parts[1::2] = [part.replace(" ", HELD) for part in parts[1::2]]
    filled = textwrap.fill(
        "`".join(parts),
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return filled.replace(HELD, " ")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
