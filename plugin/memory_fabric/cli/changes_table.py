"""The table of changes that `history` and `undo` print."""

from collections.abc import Sequence

from memory_fabric.cli import show
from memory_fabric.ids import short_id
from memory_fabric.store.history.changes import who
from memory_fabric.store.history.trace import DescribedChange


def show_changes(changes: Sequence[tuple[DescribedChange, str]]) -> None:
    """Print changes with the phrase for each; authors are named where there are several."""
    authors = {str(one.change.by.get("author") or "") for one, _ in changes}
    rows = []
    for one, what in changes:
        by = dict(one.change.by)
        if len(authors) < 2:
            by.pop("author", None)
        at = f"{one.change.at[:10]} {one.change.at[11:16]}"
        rows.append((at, short_id(one.change.id), who(by), what))
    show.table(("when (UTC)", "id", "by", "what"), rows, lines=1)
