"""The commands, paths and activities that the text of `When:` names."""

from __future__ import annotations

import pytest

from memory_fabric.rules.bindings import (
    ACTIVITY,
    COMMAND,
    MAX_BINDINGS,
    PATH,
    Binding,
    activity_named,
    bindings_of,
    is_path,
    name_of,
    required_by,
)


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("npm", ["command npm"]),
        ("go", []),
        ("go generate", ["command go generate"]),
        ("zork x", []),
        ("npm run a b c d e f", ["command npm run a b c d e f"]),
        ("npm run a b c d e f g", []),
        ("./run", ["path ./run"]),
        ("./run now", ["command ./run now"]),
        ("./", []),
        ("./run.sh", ["path ./run.sh", "command ./run.sh"]),
        ("`a.sh` in apps/web", ["command a.sh"]),
        ("`src/a` in apps/web", []),
        ("npm test in web", ["command npm test in web"]),
        ("before npm test", ["activity test"]),
        ("before npm run x", ["command npm run x"]),
        ("before", []),
        ("src/a src/b", []),
        ("commit or push", ["activity commit", "activity push"]),
        ("commit; push", ["activity commit", "activity push"]),
        ("commit、push", ["activity commit", "activity push"]),
        ("commit, commit", ["activity commit"]),
        ("commit, , push", ["activity commit", "activity push"]),
        ("“push”!", ["activity push"]),
        ("`push`", ["activity push"]),
        ("`zork`", []),
        ("``", []),
        ("run `npm test`, please", ["command npm test"]),
        ("`npm test` somehow", []),
        ("`npm test", []),
        ("`npm test` `npm start`", ["command npm test", "command npm start"]),
        ("`npm run a and b`", ["command npm run a and b"]),
        ("'npm run a, b'", ["command npm run a, b"]),
        ("it's a commit, push", ["activity push"]),
        ("src/{a,b}/c, push", ["path src/{a,b}/c", "activity push"]),
        ("`x [name]`", ["command x *"]),
        ("`x {name}`", ["command x *"]),
        ("`x … y`", ["command x * y"]),
        ("`x [name`", ["command x [name"]),
    ],
)
def test_each_part_of_a_condition_is_a_command_a_path_an_activity_or_ignored(
    when: str, expected: list[str]
) -> None:
    assert [f"{binding.kind} {binding.text}" for binding in bindings_of(when)] == expected


@pytest.mark.parametrize(
    ("text", "activity", "platform"),
    [
        ("vercel deployment", "deploy", "vercel"),
        ("fly.io deploy", "deploy", "fly"),
        ("cloudflare deploy", "deploy", "wrangler"),
        ("git push", "push", ""),
        ("zork deploy", "", ""),
        ("vercel zork", "", ""),
        ("vercel", "", ""),
        ("", "", ""),
    ],
)
def test_an_activity_may_be_named_with_its_platform(
    text: str, activity: str, platform: str
) -> None:
    expected = Binding(ACTIVITY, activity, platform=platform) if activity else None

    assert activity_named(text) == expected


def test_a_condition_has_a_limited_number_of_bindings() -> None:
    places = [f"src/{number}" for number in range(MAX_BINDINGS + 1)]
    commands = [f"`make {number}`" for number in range(MAX_BINDINGS + 1)]

    assert [b.text for b in bindings_of(", ".join(places))] == places[:MAX_BINDINGS]
    assert len(required_by("push, first " + ", ".join(commands))) == MAX_BINDINGS


def test_a_binding_is_named_as_it_is_written_in_a_condition() -> None:
    names = [
        *("push", "vercel deploy", "`npm run x` in apps/web", "`make x`", "src/**"),
        "`sudo npx vite build`",
    ]

    assert [name_of(binding) for binding in bindings_of(", ".join(names))] == names


def test_a_wrapper_of_several_commands_is_compared_by_all_its_words() -> None:
    [binding] = bindings_of("`concurrently 'npm run a' 'npm run b'`")

    assert binding.words == ("concurrently", "npm run a", "npm run b")


@pytest.mark.parametrize(
    "word",
    ["src/api", "a.py", "./a", "~/a", "/a", "a/", "a?", "*.py", "a.abcdefghij", "..a/b", ".env"],
)
def test_a_word_with_a_folder_a_wildcard_or_an_ending_is_a_path(word: str) -> None:
    assert is_path(word)
    assert [binding.kind for binding in bindings_of(word)] in ([PATH], [PATH, COMMAND])


@pytest.mark.parametrize(
    "word",
    [
        *("a", "a.", "A.MD", "v1.2", "a.abcdefghijk", ".", "..", "/", "*", "**", "./", "**/"),
        *("-a/b", "@a/b", "$A/b", "#a/b", "http://a/b", "a=b/c", "a(b)/c", "a|b/c", "a.b-c"),
    ],
)
def test_a_bare_word_an_option_an_address_or_a_version_is_no_path(word: str) -> None:
    assert not is_path(word)
