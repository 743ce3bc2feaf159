"""The three tiers beside the real client: each holds what was stated, none holds a secret."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from e2e.harness.home import Home
from e2e.harness.script import Script, call
from e2e.harness.tiers import Tiers, files_holding, journal_path, notes_path, tiers
from thorough import examples

pytestmark = pytest.mark.e2e

BR_11 = "Use cursor-based pagination for all list endpoints"
NOTES = (
    b"# My notes\r\n\r\n- tabs \tand trailing blanks   \n- a look-alike: "
    b"`<!-- memory-fabric:begin -->` in a line\n"
    b"- Gr\xc3\xb6\xc3\x9fe, \xf0\x9f\x90\x98\n\n\n- the last line"
)
MORE = b"\n## Written below, by hand\n- keep me  \n"
TO_A_PROMPT = 12
# More than MEMORY.md has lines for.
IMPORTED = examples(204, 60)


def secrets() -> dict[str, str]:
    """Values of the shapes that secrets have, made here: no file holds one, not even this."""
    letters = "xUe5QaT1gFj6PcH3dYs8WnB4tKv9XmL2rZ7q"[::-1]
    return {
        "token": "gh" + "p_" + letters,
        "key id": "AK" + "IA" + letters[:16].upper(),
        "in a URL": "pw" + letters[3:19],
        "assigned": letters[5:29],
        "private": "hush" + letters[9:21],
    }


def imports(first: int) -> tuple[str, str]:
    """A prompt that states twelve decisions, and the answer that notes them."""
    jobs = [f"queue-{n:03} for the import-{n:03} job" for n in range(first, first + TO_A_PROMPT)]
    prompt = "\n".join(f"We decided to use {job}." for job in jobs)
    notes = [f'Noted decision: Use {job}. From: "We decided to use {job}"' for job in jobs]
    return prompt, "\n".join(notes)


@pytest.fixture(scope="module")
def imported(shared_home: Callable[[], Home]) -> tuple[Home, Tiers]:
    """A home with more records than its MEMORY.md shows, which has the user's notes as well."""
    home = shared_home()
    home.attend()
    path = notes_path(home)
    path.parent.mkdir(parents=True)
    path.write_bytes(NOTES)
    home.fabric("remember", BR_11)
    with path.open("ab") as file:
        file.write(MORE)
    turns = [imports(first) for first in range(0, IMPORTED, TO_A_PROMPT)]
    prompts, answers = zip(*turns, strict=True)
    last = "We decided to use Redis for the last job."
    home.session(Script(prompts=(*prompts, last), main=(*answers, "Understood.")))
    return home, tiers(home)


def test_one_stated_decision_is_stored_in_graph_journal_and_memory_md(home: Home) -> None:
    home.runs("remember", BR_11)

    kept = tiers(home)
    [record] = kept.records
    assert (record.type, record.what, record.trust) == ("decision", BR_11, "user")
    assert kept.entities["cursor-pagination"] == "pattern"
    assert kept.entities["list-endpoints"] == "component"
    assert ("project", "chose", "cursor-pagination") in kept.relations
    assert {(line["id"], line["what"]) for line in kept.journal} == {(record.id, BR_11)}
    assert (kept.before, kept.after) == (b"", b"")
    assert BR_11 in kept.fence


def test_a_typed_secret_appears_only_in_the_transcript_of_the_client(home: Home) -> None:
    home.attend()
    hidden = secrets()
    url = f"postgres://app:{hidden['in a URL']}@db.example.com/shop"
    failing = f"echo 'login failed for {url}' >&2; exit 1"
    script = Script(
        prompts=(
            f"We decided to use the token {hidden['token']} for the deploy job because CI asks.",
            f"Always sign with aws_access_key_id={hidden['key id']} and never with another key.",
            f"Let's use PostgreSQL at {url} because it scales.\nDB_PASSWORD={hidden['assigned']}",
            f"We prefer tabs. <private>We use {hidden['private']} at home.</private>",
        ),
        main=(
            f"Noted fact: CI has {hidden['token']} for the deploy job. Why: it works.",
            f"Noted rule: Sign with aws_access_key_id={hidden['key id']} only. "
            f'From: "Always sign with aws_access_key_id={hidden["key id"]}"',
            call("Bash", {"command": failing, "description": "log in"}),
            f"The login fails.\n\nNoted decision: The data is in PostgreSQL at {url}. "
            f'Why: DB_PASSWORD={hidden["assigned"]}. From: "Let\'s use PostgreSQL at {url}"',
            'Noted preference: Tabs are preferred. From: "We prefer tabs. We use …"',
        ),
    )

    first = home.session(script)
    home.fabric("backup")
    home.fabric("remember", f"The staging password is {hidden['assigned']}")
    later = home.session(Script(prompts=("Which token does the deploy job use?",)))

    # The client's own record of that conversation; in print mode it writes no history.jsonl.
    [transcript] = home.config.glob(f"projects/*/{first.session_id}.jsonl")
    for kind, value in hidden.items():
        assert files_holding(home.root, value) == [transcript], kind
        assert value not in later.all_text, kind
    assert len(tiers(home).records) >= 4


def test_storing_many_records_keeps_the_users_own_lines_in_memory_md(
    imported: tuple[Home, Tiers],
) -> None:
    _, kept = imported

    assert len(kept.records) == 1 + IMPORTED + 1
    assert kept.notes.startswith(NOTES)
    assert kept.notes.endswith(MORE)
    ours = kept.notes[len(NOTES) : -len(MORE)].decode()
    assert "Redis for the last job" in ours
    assert ours.startswith("\r\n<!-- memory-fabric:begin -->")
    assert ours.endswith("<!-- memory-fabric:end -->\r\n")
    # The client strips comment lines before it counts.
    assert len([line for line in ours.splitlines() if line and "<!--" not in line]) <= 40
    assert kept.notes.count(b"\n") <= 200


def told(kept: Tiers) -> dict[str, str]:
    """Return what the journal tells of each record that was not forgotten."""
    return {line["id"]: line["what"] for line in kept.journal if "what" in line}


@pytest.mark.parametrize("command", ["repair", "sync"])
def test_a_deleted_journal_is_rebuilt_from_the_graph(
    imported: tuple[Home, Tiers], command: str
) -> None:
    home, kept = imported
    before = told(kept)
    shutil.rmtree(journal_path(home).parent)

    home.fabric(command)

    assert told(tiers(home)) == before
    assert len(before) == 1 + IMPORTED + 1
