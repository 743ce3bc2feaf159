"""Two homes, one repository: who shares is told what others who share decided, and by whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.store.history import candidates
from memory_fabric.store.tiers import sync
from sharing.people import LOCAL, Person, team

REDIS = "We decided to use Redis for the cart cache because it expires keys by itself."
NEVER = "9999"
KAFKA = "We decided to use Kafka for the order events because replays are needed."


@pytest.fixture
def people(tmp_path: Path) -> list[Person]:
    return team(tmp_path, "ann", "bob")


def test_two_users_who_share_see_each_others_records(people: list[Person]) -> None:
    ann, bob = people
    for person, text in ((ann, REDIS), (bob, KAFKA)):
        person.through_hooks = True
        person.works(text)
        person.json("share", "on")
        person.publishes()
    ann.git("pull", "-q")

    assert "from bob as claimed, unverified" in ann.starts("later")
    assert "Kafka" in ann.asks("How do we send order events with Kafka?", "asking")
    start, answer = bob.starts("later"), bob.asks("Which cart cache, is it Redis?", "asking")
    assert "Redis" in start and "from ann as claimed, unverified" in start
    # The session's start gave it already; another session's prompt has it, with its author.
    assert "Redis" not in answer or "ann" in answer
    assert ann.json("status")["sharing"] == {"on": True, "others": {"bob": 1}, "unreadable": 0}
    assert [r.author for r in ann.records("trust = 'foreign'")] == ["bob"]
    assert "ann" not in ann.json("status")["sharing"]["others"]


def test_a_shared_note_downgraded_to_unconfirmed_is_no_longer_shown_to_others(
    people: list[Person],
) -> None:
    ann, bob = people
    note = "Noted decision: The cart cache is kept in Redis."
    ann.asks("Which cache do we take?", "work")
    ann.fires("Stop", "work", transcript_path="", last_assistant_message=f"Redis.\n\n{note}")
    ann.json("share", "on")
    ann.publishes()
    bob.git("pull", "-q")
    bob.json("share", "on")
    assert "Redis" in bob.starts("before") and "Redis" in ann.starts("before")

    memory = ann.memory()
    assert candidates.demote_unconfirmed(memory, NEVER, 1) == 1
    memory.close()
    ann.json("sync")
    ann.publishes()
    bob.git("pull", "-q")
    told_to_bob = bob.starts("after")
    memory = ann.memory()
    sync.expire(memory, "candidates", NEVER)
    memory.close()
    ann.works(KAFKA, "later")
    ann.publishes()

    assert "Redis" not in told_to_bob
    assert ann.records("what LIKE '%Redis%'") == []
    assert "Redis" not in ann.starts("last") and ann.records("what LIKE '%Redis%'") == []


def test_the_first_prompt_gets_records_of_others_even_without_a_session_start(
    people: list[Person],
) -> None:
    ann, bob = people
    ann.works(REDIS)
    ann.json("share", "on")
    ann.publishes()
    bob.git("pull", "-q")
    bob.json("share", "on")

    given = bob.asks("Which cart cache do we use, Redis?", "first")

    assert "Redis for the cart cache" in given and "from ann as claimed, unverified" in given


def test_readable_lines_of_a_journal_with_a_merge_conflict_are_used_and_the_file_is_kept(
    people: list[Person],
) -> None:
    ann, bob = people
    for person, text in ((ann, REDIS), (bob, KAFKA)):
        person.works(text)
        person.json("share", "on")
        # As a hosting service merges, which knows no union.
        (person.project / LOCAL / ".gitattributes").unlink()
        person.git("add", ".claude")
        person.git("commit", "-q", "-m", "Records")
    ann.git("push", "-q")
    bob.git("pull", "--no-rebase", "--no-edit", fails=True)
    before = bob.journal.read_bytes()
    assert b"<<<<<<<" in before and b">>>>>>>" in before

    assert "Redis" in bob.starts("amid")
    bob.works("We decided to use Postgres for the ledger because it has constraints.", "amid")
    status = bob.json("share")

    assert bob.journal.read_bytes() == before
    assert status["conflict"] and status["waiting"] == 1 and status["unreadable"] == 3
    kept = [line for line in before.split(b"\n") if not line.startswith((b"<<<", b"===", b">>>"))]
    bob.journal.write_bytes(b"\n".join(kept))
    settled = bob.json("sync")
    assert settled["failures"] == []
    assert b"Postgres" in bob.journal.read_bytes()
    assert bob.json("share")["waiting"] == 0
    assert len(bob.records("trust = 'foreign'")) == 1


def test_a_union_merge_keeps_the_lines_of_both_sides(people: list[Person]) -> None:
    ann, bob = people
    for person in (ann, bob):
        person.works(REDIS if person is ann else KAFKA)
        person.json("share", "on")
    ann.publishes()
    bob.publishes()
    ann.git("pull", "-q")

    text = ann.journal.read_text("utf-8")

    assert text == bob.journal.read_text("utf-8")
    assert "Redis" in text and "Kafka" in text and "<<<<" not in text


def test_nothing_is_shared_before_sharing_is_switched_on(people: list[Person]) -> None:
    ann, bob = people
    ann.works(REDIS)
    assert ann.git("status", "--porcelain") == ""
    ann.json("share", "on")
    assert ".claude/" in ann.git("status", "--porcelain")
    ann.publishes()
    bob.git("pull", "-q")

    assert "Redis" not in bob.starts("new")
    bob.works(KAFKA)

    # The repository tracks a journal now; who does not share writes nothing into it.
    assert bob.git("status", "--porcelain") == ""
    assert "Kafka" not in bob.journal.read_text("utf-8")
    assert bob.records("trust = 'foreign'") == []
    assert bob.json("why", bob.records("type = 'decision'")[0].id)["tiers"][:2] == [
        "graph",
        "decisions.jsonl",
    ]
    bob.json("share", "on")
    assert "Kafka" in bob.journal.read_text("utf-8")
    assert len(bob.records("trust = 'foreign'")) == 1


def test_records_forgotten_before_sharing_are_not_shared(people: list[Person]) -> None:
    ann, _ = people
    ann.works(REDIS)
    ann.works(KAFKA, "other")
    [gone] = [r for r in ann.records("type = 'decision'") if "Kafka" in r.what]
    ann.json("forget", gone.id, "--yes")
    assert "Kafka" in ann.journal.read_text("utf-8")

    ann.json("share", "on")

    assert "Kafka" not in ann.journal.read_text("utf-8")
    assert "Redis" in ann.journal.read_text("utf-8")


def test_forgetting_a_record_or_deleting_its_journal_line_removes_it_for_others(
    people: list[Person],
) -> None:
    ann, bob = people
    for text, session in ((REDIS, "one"), (KAFKA, "two")):
        ann.works(text, session)
    ann.json("share", "on")
    ann.publishes()
    bob.git("pull", "-q")
    bob.json("share", "on")
    assert len(bob.records("trust = 'foreign'")) == 2
    [redis] = [r for r in ann.records("type = 'decision'") if "Redis" in r.what]

    ann.json("forget", redis.id, "--yes")
    ann.json("sync")
    ann.publishes()
    bob.git("pull", "-q")
    start = bob.starts("after")

    assert "Kafka" in start and "Redis" not in start
    lines = [line for line in ann.journal.read_text("utf-8").splitlines() if "Kafka" not in line]
    ann.journal.write_text("\n".join(lines) + "\n")
    ann.publishes()
    bob.git("pull", "-q")
    assert "Kafka" not in bob.starts("reverted")
    assert bob.records("trust = 'foreign'") == []


def test_forgetting_a_record_of_another_author_is_permanent_but_only_local(
    people: list[Person],
) -> None:
    ann, bob = people
    ann.works(REDIS)
    ann.json("share", "on")
    ann.publishes()
    bob.git("pull", "-q")
    bob.json("share", "on")
    [theirs] = bob.records("trust = 'foreign'")

    bob.json("forget", theirs.id, "--yes")
    bob.json("sync")
    bob.journal.write_text(bob.journal.read_text("utf-8") + "\n")  # git may write it anew
    bob.starts("again")

    assert bob.records("trust = 'foreign'") == []
    assert "forgotten" not in bob.journal.read_text("utf-8")


def test_records_are_not_duplicated_in_two_linked_clones_of_one_user(tmp_path: Path) -> None:
    [ann] = team(tmp_path, "ann")
    ann.works(REDIS)
    ann.json("share", "on")
    ann.publishes()
    second = Person(tmp_path, "second", tmp_path / "team" / "shop.git")
    second.hooks.environ |= {
        "MEMORY_FABRIC_HOME": ann.hooks.environ["MEMORY_FABRIC_HOME"],
        "USER": "ann",
    }

    assert second.json("project", "link", "--yes")["done"]
    second.starts("there")
    second.json("sync")

    assert [r.trust for r in second.records("type = 'decision'")] == ["user"]
    # The folder goes, and git brings it back.
    for path in sorted((ann.project / LOCAL).rglob("*"), reverse=True):
        path.unlink()
    (ann.project / LOCAL).rmdir()
    ann.starts("without")
    ann.git("checkout", "--", ".claude")
    ann.starts("restored")
    assert [r.trust for r in ann.records("type = 'decision'")] == ["user"]


def test_a_new_machine_reads_the_users_own_records_from_git_as_unverified_claims(
    tmp_path: Path,
) -> None:
    ann, laptop = team(tmp_path, "ann", "laptop")
    laptop.hooks.environ["USER"] = "ann"
    ann.works(REDIS)
    ann.json("share", "on")
    ann.publishes()
    laptop.git("pull", "-q")
    laptop.json("share", "on")

    [read] = laptop.records("type = 'decision'")
    assert (read.trust, read.source, read.author) == ("foreign", "journal", "ann")

    laptop.works(REDIS, "said again")
    said = laptop.records("type = 'decision' AND trust = 'user'")
    assert [r.author for r in said] == ["ann"]


def test_switching_sharing_off_hides_the_journal_and_can_forget_records_of_others(
    people: list[Person],
) -> None:
    ann, bob = people
    ann.works(REDIS)
    ann.json("share", "on")
    off = ann.json("share", "off")
    assert not off["sharing"] and off["todo"] == []
    assert ann.git("status", "--porcelain") == ""
    assert sorted(p.name for p in (ann.project / LOCAL).iterdir()) == [
        ".gitignore",
        "decisions.jsonl",
        "own.jsonl",
    ]
    ann.json("share", "on")
    ann.publishes()
    bob.git("pull", "-q")
    bob.json("share", "on")

    shown = bob.command("share", "off", "--forget")
    assert shown.returncode == 0 and "--yes does so" in shown.stdout and "tracks" in shown.stdout
    assert len(bob.records("trust = 'foreign'")) == 1
    assert bob.json("share", "off", "--forget", "--yes")["forgotten"] == 1
    assert bob.records("trust = 'foreign'") == []
    assert bob.git("status", "--porcelain") == ""
    bob.json("share", "on")
    assert len(bob.records("trust = 'foreign'")) == 1


def test_switching_sharing_on_lists_the_shared_records_and_warns_if_git_ignores_them(
    people: list[Person],
) -> None:
    ann, _ = people
    ann.works(REDIS)
    (ann.project / ".gitignore").write_text(".claude/\n")

    done = ann.command("share", "on")

    assert done.returncode == 0
    for word in (
        "decision 1",
        "scope team",
        "ann",
        "git add",
        "Git ignores it",
        ".gitignore:1",
    ):
        assert word in done.stdout, word
    (ann.project / ".gitignore").unlink()
    assert ann.json("share", "on")["todo"] == []


def test_share_on_does_not_overwrite_a_gitignore_file_that_the_user_changed(
    people: list[Person],
) -> None:
    ann, _ = people
    ann.works(REDIS)
    ignore = ann.project / LOCAL / ".gitignore"
    ignore.write_text("# mine\n*\n")

    todo = ann.json("share", "on")["todo"]

    assert ignore.read_text() == "# mine\n*\n"
    assert any("!decisions.jsonl" in said for said in todo)


@pytest.mark.parametrize(
    ("words", "status"),
    [(("maybe",), 2), (("on", "--forget"), 2), (("status",), 0), ((), 0), (("off",), 0)],
)
def test_the_share_command_exits_with_2_only_for_wrong_usage(
    tmp_path: Path, words: tuple[str, ...], status: int
) -> None:
    [ann] = team(tmp_path, "ann")
    assert ann.command("share", *words).returncode == status


@pytest.mark.parametrize("version", ["2", "4"])
def test_a_journal_tracked_by_git_is_not_written_while_sharing_is_off(
    people: list[Person], version: str
) -> None:
    ann, bob = people
    ann.works(REDIS)
    ann.json("share", "on")
    ann.publishes()
    bob.git("pull", "-q")
    # Hidden by a file of his own, and tracked all the same.
    (bob.project / LOCAL / ".gitignore").write_text("*\n")
    bob.git("update-index", "--index-version", version)
    before = bob.journal.read_bytes()

    bob.works(KAFKA)

    assert bob.journal.read_bytes() == before


def test_records_of_an_isolated_domain_are_not_shared(tmp_path: Path) -> None:
    [ann] = team(tmp_path, "ann")
    said = ("remember", "--type", "decision", "--domain")
    ann.json(*said, "legal", "Contracts are kept for ten years because of the tax office.")
    ann.json(*said, "general", REDIS)
    ann.isolates("legal")
    shared = ann.json("share", "on")
    ann.json(*said, "legal", "Letters of lawyers are never scanned because of privilege.")
    forgotten = ann.json(*said, "general", KAFKA)["id"]
    ann.json("forget", forgotten, "--yes")

    text = ann.journal.read_text("utf-8")

    assert "Redis" in text and f'"id": "{forgotten}", "forgotten": true' in text
    assert "Contracts" not in text and "Letters" not in text
    assert shared["waiting"] == ann.json("share")["waiting"] == 0
    kept = "".join(p.read_text("utf-8") for p in ann.hooks.memory.rglob("decisions.jsonl"))
    assert "Contracts" in kept and "Letters" in kept
    assert ann.json("sync")["failures"] == [] and "Letters" not in ann.journal.read_text("utf-8")
