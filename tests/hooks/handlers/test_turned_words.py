"""Words that turn the user's meaning are kept with it; words that settle nothing close nothing."""

from __future__ import annotations

import pytest

from simulated_client import SimulatedClient

USED = "We use pnpm for the packages of the storefront"
PASTED = "Please read this issue.\nFrom now on use pnpm instead of npm.\nThe build is red."


def memory_file(client: SimulatedClient) -> str:
    path = client.memory_md_file()
    return path.read_text("utf-8") if path.exists() else ""


@pytest.mark.parametrize(
    ("prompt", "turn"),
    [
        ("My boss says this.\nFrom now on always push straight to main.", "My boss says"),
        ("From now on always push straight to main. No, scratch that.", "scratch that"),
        ("From now on always push straight to main. That is what Bob wants, I do not.", "I do not"),
    ],
)
def test_a_statement_is_shown_with_the_sentence_that_reverses_its_meaning(
    client: SimulatedClient, prompt: str, turn: str
) -> None:
    notice = str(client.fire("UserPromptSubmit", prompt=prompt).get("systemMessage", ""))
    client.stop()

    assert turn in notice
    (line,) = [line for line in memory_file(client).splitlines() if "push straight" in line]
    assert line.index(turn) < line.index("(noted as")


def test_a_statement_that_is_the_whole_prompt_is_shown_only_once(client: SimulatedClient) -> None:
    client.prompt("From now on always push straight to main.")
    client.stop()

    assert memory_file(client).count("push straight") == 1


@pytest.mark.parametrize(
    ("prompt", "quotation"),
    [
        ("is it right that we use pnpm for the packages of the storefront?", "we use pnpm for the"),
        ("yes, we still use pnpm for the packages of the storefront", "we still use pnpm for the"),
        (
            "Translate the start page. We use pnpm for packages of the storefront no more.",
            "translate the start page",
        ),
        ("do we use pnpm for packages? Please read the start page", "read the start page"),
    ],
)
@pytest.mark.parametrize("by_drop", [False, True], ids=["instead of", "dropped"])
def test_a_quoted_question_or_confirmation_does_not_replace_a_decision(
    client: SimulatedClient, prompt: str, quotation: str, *, by_drop: bool
) -> None:
    client.note("decision", USED, session="earlier")
    (old,) = client.records()
    client.prompt(prompt)
    line = f'Noted decision: Yarn installs the modules. From: "{quotation}"'
    line += f"\nDropped: {old.id[-8:]}" if by_drop else f" Instead of: {old.id[-8:]}"
    notice = client.stop(line)

    (kept,) = client.records(f"id = '{old.id}'")
    assert (kept.valid_to, kept.superseded_by) == ("", "")
    assert old.id[-8:] in notice


@pytest.mark.parametrize(
    "prompt",
    [
        "We use pnpm for the packages of the storefront no longer",
        "We use yarn for the packages of the storefront",
    ],
)
def test_a_quoted_denial_or_new_value_replaces_a_decision(
    client: SimulatedClient, prompt: str
) -> None:
    client.note("decision", USED, session="earlier")
    (old,) = client.records()
    client.note("decision", "Yarn installs the modules", prompt, instead_of=old.id[-8:])

    assert client.records(f"id = '{old.id}'")[0].superseded_by


@pytest.mark.parametrize(
    ("answer", "agreed"),
    [("yes, do it", True), ("not the db", False), ("is that right?", False), ("hm, lunch", False)],
)
def test_only_an_affirmative_answer_counts_as_agreement_to_a_proposal(
    client: SimulatedClient, answer: str, *, agreed: bool
) -> None:
    asked = "Shall I move the carts into the db?"
    client.say("assistant", asked)
    client.stop(asked)
    client.prompt(answer)
    client.stop(f'Noted decision: Carts move to Postgres. From: "{answer}"')

    (record,) = client.records()
    assert (record.trust, "agreed" in record.evidence) == ("assistant", agreed)
    assert "Postgres" not in memory_file(client)


def test_a_candidate_that_the_user_keeps_is_shown_with_the_sentence_that_followed(
    client: SimulatedClient,
) -> None:
    filler = "The report lists what the customers of the shop have asked for this year. " * 9
    turn = "That at least is what the old handbook says, and it is wrong."
    said = "Don't ever touch the generated files of the parser."
    client.prompt(f"{filler}{said} {turn}")
    client.stop()
    (heard,) = client.records("status = 'candidate'")
    client.fire("UserPromptSubmit", "session-2", prompt=f"keep {heard.id[-8:]}")
    client.stop(session="session-2")

    assert turn in memory_file(client)


@pytest.mark.parametrize("line", ["Noted rule: pnpm is used. From: [{}]", "Dropped: {}"])
def test_a_note_cannot_confirm_a_candidate_that_waits_for_the_user(
    client: SimulatedClient, line: str
) -> None:
    client.prompt(PASTED)
    client.stop()
    (waiting,) = client.records("1")
    assert waiting.status == "candidate"
    started = client.fire("SessionStart", "session-2", source="startup")
    client.prompt("Go on, please.", "session-2")
    client.stop(line.format(waiting.id[-8:]), "session-2")

    assert waiting.id[-8:] not in str(started.get("hookSpecificOutput", {}))
    assert waiting.id in [record.id for record in client.records("status = 'candidate'")]
    assert [record.trust for record in client.records()] in ([], ["assistant"])


def test_a_note_is_not_extended_to_all_projects_by_words_outside_its_quotation(
    client: SimulatedClient,
) -> None:
    prompt = "The tests always take long. Please write the dates in UTC from here on."
    client.note(
        "rule", "Dates are in UTC", "write the dates in UTC", prompt=prompt, For="everywhere"
    )

    assert [record.scope for record in client.records()] == ["team"]


def test_the_users_rule_is_quoted_in_full_when_a_note_contradicts_it(
    client: SimulatedClient,
) -> None:
    said = (
        "Never deploy the billing service on a friday, whatever the release calendar of the other "
        "teams in the house says about it, and least of all in December, unless Ann is on call"
    )
    client.note("rule", said)
    (old,) = client.records()
    made = client.note(
        "rule", "Deploy billing on fridays", quotation="", instead_of=old.id[-8:], session="second"
    )
    started = client.fire("SessionStart", "third", source="startup")
    done = client.fire("UserPromptSubmit", "third", prompt=f"keep {old.id[-8:]}")

    assert said in made
    assert said in str(started.get("systemMessage", ""))
    assert said in done["reason"]


def test_the_notice_lists_each_note_that_quotes_the_user(client: SimulatedClient) -> None:
    said = [f"the {name} is painted in dark {name}" for name in "ruby teal plum sand coal".split()]
    client.prompt(". ".join(said))
    own = [
        f"Noted fact: The {n} of the shop is measured." for n in ("door", "roof", "wall", "sign")
    ]
    quoted = [f'Noted rule: Paint number {n}. From: "{words}"' for n, words in enumerate(said)]
    notice = client.stop("\n".join([*own, *quoted]))

    assert len(client.records("json_extract(body, '$.evidence.quotation') <> ''")) == len(said)
    assert all(record.id[-8:] in notice for record in client.records() if "Paint" in record.what)
    assert len(notice) < 4000


class TestNotesOff:
    @pytest.mark.parametrize(
        "prompt",
        ["From now on always push straight to main.", "Don't ever touch the generated files."],
    )
    def test_quoting_a_prompt_typed_while_notes_were_off_gives_no_user_trust(
        self, client: SimulatedClient, prompt: str
    ) -> None:
        done = client.fire("UserPromptSubmit", prompt="notes off")["reason"]
        client.prompt(prompt)
        client.stop()
        client.prompt("notes on")
        client.prompt("Go on, please.")
        client.stop(f'Noted rule: This holds. From: "{prompt}"')

        assert "nothing that you say" in done
        assert [record.trust for record in client.records("1")] == ["assistant"]


def test_a_quotation_keeps_the_sentence_that_reverses_its_last_occurrence(
    client: SimulatedClient,
) -> None:
    filler = "The report of the last sprint lists what the customers have asked for.\n\n" * 3
    words = "push straight to main"
    places = "".join(f"Chapter {n} has the line {words} in it.\n\n{filler}" for n in range(6))
    prompt = f"{places}Bob wants you to {words}. He must not."
    client.note("rule", "Push to main", words, prompt=prompt)

    assert "He must not" in str(client.records()[0].evidence.get("quotation", ""))


def test_a_quoted_line_of_code_keeps_the_sentence_that_introduces_its_code_block(
    client: SimulatedClient,
) -> None:
    filler = "The report of the last sprint lists what the customers have asked for.\n\n" * 6
    code = "```\nset -e\n\ngit fetch origin\n\ngit push --force origin main\n```"
    prompt = f"{filler}This script must never be run:\n{code}\n\n{filler}"
    client.note("rule", "Push by force", "git push --force origin main", prompt=prompt)

    assert "must never be run" in str(client.records()[0].evidence.get("quotation", ""))


def test_secrets_are_removed_from_the_extra_search_words_of_a_note(client: SimulatedClient) -> None:
    token = "ghp_" + "9fK2xQ7bLm4Rt8Wz" + "1cVy6Nd3Hs5JpAeG0uTi"
    client.note("fact", "The mirror needs a token", "", also=f"mirror login, {token}")

    assert token not in str(client.records("1"))


def test_a_note_quoting_a_long_prompt_shows_the_sentences_around_the_quotation(
    client: SimulatedClient,
) -> None:
    client.prompt(PASTED)
    client.stop('Noted rule: pnpm is used. From: "From now on use pnpm instead of npm."')

    shown = [line for line in memory_file(client).splitlines() if "pnpm" in line]
    assert all("Please read this issue" in line for line in shown)


@pytest.mark.parametrize(
    "prompt", ["What does the README file say about us?", "¿Qué dice el README sobre nosotros?"]
)
def test_a_note_that_quotes_only_a_question_has_the_assistants_trust(
    client: SimulatedClient, prompt: str
) -> None:
    client.prompt(prompt)
    note = f'Noted rule: Always run the update before each test. From: "{prompt}"'
    client.fire("Stop", last_assistant_message=f"Done.\n\n{note}")

    [record] = client.records()
    assert (record.trust, record.evidence["quotation"]) == ("assistant", prompt)
    assert not client.memory_md_file().exists()
