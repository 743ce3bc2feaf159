"""A memory that an earlier release wrote with its hooks: what keeps the user's trust, and how."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from memory_fabric.store.history import candidates
from simulated_client import SimulatedClient

# It has a quoted note, two of the assistant's, one agreed to, a statement, a note that the user
# confirmed in a shell, and one with the user's trust, but without words or any act of theirs.
HOME = gzip.decompress(Path(__file__).with_name("home_of_5c9b80fb.db.gz").read_bytes())
SAID = "Never start the dev server yourself, I run it on my own"
WITHOUT_WORDS = "Deployments need no review"


@pytest.fixture
def older(client: SimulatedClient) -> SimulatedClient:
    client.note("fact", "The cart is made of steel", "")
    (database,) = client.fabric_home.rglob("graph.db")
    for path in database.parent.glob("graph.db*"):
        path.unlink()
    database.write_bytes(HOME)
    return client


def test_records_of_an_older_release_are_kept_and_shown_with_the_users_words(
    older: SimulatedClient,
) -> None:
    older.fire("Stop", last_assistant_message="Done.")

    shown = older.memory_md_file().read_text("utf-8")
    assert len(older.records()) == 6
    assert f"“{SAID}” (noted as: Never start the dev server" in shown
    assert "From now on all dates are shown in UTC" in shown


def test_maintenance_removes_user_trust_from_an_older_record_without_a_quotation(
    older: SimulatedClient,
) -> None:
    def trusts() -> dict[str, str]:
        return {record.what: record.trust for record in older.records()}

    def maintain() -> int:
        memory = older.memory()
        found = candidates.distrust_without_words(memory)
        memory.close()
        return found

    before = trusts()
    assert maintain() == 1
    assert trusts() == {**before, WITHOUT_WORDS: "assistant"}
    older.fire("Stop", last_assistant_message="Done.")
    assert WITHOUT_WORDS not in older.memory_md_file().read_text("utf-8")

    assert older.command("undo", "--last").returncode == 0
    assert (trusts(), maintain()) == (before, 0)
