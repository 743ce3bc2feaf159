"""Requests of MCP clients to the memory, independent of the transport: tool calls and the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memory_fabric.models import Provenance
from memory_fabric.servers import store_thread
from memory_fabric.servers.mcp import caller_scope, graph_tools, tools
from memory_fabric.servers.mcp.jsonrpc import Outcome
from memory_fabric.store import switches
from memory_fabric.store.memory import Memory


class RequestHandler:
    """Answers from a memory. `said_by` stamps what is written; `place` is the folder that the
    clients work in, where that is not the memory's.
    """

    def __init__(self, said_by: Provenance, place: str = "") -> None:
        self._said_by, self._place = said_by, place

    def call(
        self, memory: Memory, name: str, arguments: Mapping[str, Any], call: caller_scope.Call
    ) -> Outcome:
        """The outcome of a tool's call that `tools.complaint` found nothing wrong with.

        Raises FabricError if the caller is unknown but must be known, or memory is switched off.
        """
        store_thread.renew(
            memory
        )  # before the scope of the caller is found: domains may have been isolated meanwhile
        place = self._place or memory.settings.project_dir
        visible, said_by = caller_scope.seated(memory, self._said_by, call, place)
        return tools.call(visible, name, arguments, said_by)

    def whole_graph(self, memory: Memory) -> str:
        """The graph as JSON. Raises FabricError where it may not be shown or cannot be read."""
        store_thread.renew(memory)
        if not memory.settings.reads:
            raise switches.off_error(memory.settings)
        place = self._place or memory.settings.project_dir
        return graph_tools.whole_graph(caller_scope.seen_by_anybody(memory, place))
