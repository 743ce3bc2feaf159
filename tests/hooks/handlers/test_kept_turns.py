"""What an event may store of a transcript's turns."""

from __future__ import annotations

from memory_fabric.clients.transcript import Turn
from memory_fabric.hooks.session.follow_transcript import keeper
from memory_fabric.models import ERASED, Provenance
from simulated_client import SimulatedClient


def test_the_cost_of_a_turns_end_does_not_grow_with_the_purged_turns(
    client: SimulatedClient,
) -> None:
    client.say("user", "Build the importer, please.")
    client.stop()
    memory = client.memory()
    connection = memory.session_database().connection

    def add_purged_turns(first: int, end: int) -> None:
        turn = {"session": "old", "role": "user", "created_at": "2026-01-01T10:00:00.000Z"}
        texts = ((f"u{n}", f"The {ERASED} listens on port {n}.") for n in range(first, end))
        episodes = [{**turn, "id": uuid, "text": text} for uuid, text in texts]
        memory.write("add_episodes", {"episodes": episodes}, Provenance("hook"))

    def cost() -> int:
        ticks = list[int]()
        connection.set_progress_handler(lambda: ticks.append(1), 10)
        kept = keeper(memory)(Turn("u7", "user", "The walrus listens on port 7."))
        connection.set_progress_handler(None, 0)
        assert kept and kept.text == f"The {ERASED} listens on port 7."
        return len(ticks)

    add_purged_turns(0, 10)
    few = cost()
    add_purged_turns(10, 400)
    many = cost()
    memory.close()

    assert many <= few + 5
