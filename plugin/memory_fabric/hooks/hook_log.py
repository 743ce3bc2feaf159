"""The log of a hook process, and the count of what it had no time for. Nothing here raises."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from memory_fabric.config import home_path


def log_for(environ: Mapping[str, str]) -> Callable[[str], None]:
    """Return the function that adds a line to the log of this process's home."""

    def log(line: str) -> None:
        try:
            from memory_fabric.store.log import note  # late: most runs have nothing to log

            note(home_path(environ), environ.get("CLAUDE_PLUGIN_DATA", ""), " ".join(line.split()))
        except Exception:  # noqa: BLE001 - nothing is left to report it
            return

    return log


def count_late(
    environ: Mapping[str, str], event: str, work: Sequence[str], tellers: Container[str]
) -> None:
    """Count an event that left this work to later ones, and mark that the model was not told.

    A line is added to the log, and a mark of `store.alerts` where one of the `tellers`
    was not done: no database takes part, which another process may have locked.
    """
    try:
        # late: most events have time for everything
        from memory_fabric.store import alerts, log

        places = (home_path(environ), environ.get("CLAUDE_PLUGIN_DATA", ""))
        log.note_late(places, event, work)
        if any(name in tellers for name in work):
            alerts.leave(alerts.UNTOLD_PROMPT, places)
    except Exception:  # noqa: BLE001 - nothing is left to report it
        return


def named(error: Exception) -> str:
    """Return an error as it stands in the log."""
    return f"{type(error).__name__}: {error}"
