"""What clients ask of the memory, whichever way they came: a tool's call, the whole graph."""

from __future__ import annotations

from memory_fabric.servers import refresh
from memory_fabric.servers.mcp import caller_scope, graph_tools, tools
from memory_fabric.store import switches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from memory_fabric.models import Provenance
    from memory_fabric.servers.mcp.result import Outcome
    from memory_fabric.store.memory import Memory


class Asked:
    """Answers from a memory. `said_by` stamps what is written; `place` is the folder that the
    clients work in, where that is not the memory's.
    """

    def __init__(self, said_by: Provenance, place: str = "") -> None:
        self._said_by, self._place = said_by, place

    def call(
        self, memory: Memory, name: str, arguments: Mapping[str, Any], call: caller_scope.Call
    ) -> Outcome:
        """The outcome of a tool's call that `tools.complaint` found nothing wrong with.

        Raises FabricError where it is not known who calls, or the memory is switched off.
        """
        refresh.renew(memory)  # before anybody is seated: walls may have been built meanwhile
        place = self._place or memory.settings.project_dir
        seen, said_by = caller_scope.seated(memory, self._said_by, call, place)
        return tools.call(seen, name, arguments, said_by)

    def whole_graph(self, memory: Memory) -> str:
        """The graph as JSON. Raises FabricError where it may not be shown or cannot be read."""
        refresh.renew(memory)
        if not memory.settings.reads:
            raise switches.off_error(memory.settings)
        place = self._place or memory.settings.project_dir
        return graph_tools.whole_graph(caller_scope.seen_by_anybody(memory, place))
