"""However many claims one author writes, a session is told few of them."""

from __future__ import annotations

from pathlib import Path

from sharing.people import team


def test_records_of_one_other_author_fill_only_a_limited_part_of_the_context(
    tmp_path: Path,
) -> None:
    ann, bob, cho = team(tmp_path, "ann", "bob", "cho")
    bob.json("share", "on")
    for number in range(14):
        bob.json(
            "remember",
            f"Invoice exports of kind {chr(97 + number)}x use Kafka",
            "--type",
            "decision",
        )
    cho.json("share", "on")
    cho.json("remember", "Invoice exports run in the night with Kafka", "--type", "decision")
    bob.publishes()
    cho.publishes()
    ann.json("share", "on")
    ann.json("remember", "Invoice exports are signed before Kafka has them", "--type", "decision")
    ann.git("add", ".claude")
    ann.git("commit", "-q", "-m", "Records of ann")
    ann.git("pull", "-q", "--no-rebase", "--no-edit")

    start, told = ann.starts("later"), ann.asks("Which invoice exports use Kafka?", "later")

    assert (start.count("from bob"), start.count("from cho")) == (2, 1)
    # MEMORY.md shows ann's own decision, so that half of the places are free for one author.
    assert told.count("from bob") == 1
