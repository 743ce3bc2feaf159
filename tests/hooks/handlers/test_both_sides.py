from __future__ import annotations

import json
from typing import Any

from simulated_client import SimulatedClient


def test_recall_returns_both_of_two_contradicting_records(client: SimulatedClient) -> None:
    assert client.command("remember", "--type", "rule", "Install packages with npm").returncode == 0
    [old] = found(client)
    client.note("rule", "Install packages with pnpm", "", instead_of=old["metadata"]["record"][-8:])

    first, second = found(client)[:2]

    assert [first["text"], second["text"]] == [
        "Install packages with pnpm",
        "Install packages with npm",
    ]
    assert second["metadata"]["said_before"] == [first["metadata"]["record"]]


def found(client: SimulatedClient) -> list[dict[str, Any]]:
    asked = client.command("recall", "install packages", "--json")
    results: list[dict[str, Any]] = json.loads(asked.stdout)["results"]
    return results
