"""Edits of a client's JSON file: each keeps the format of the file and can be undone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memory_fabric.client import VARIABLE
from memory_fabric.clients import hooks_json
from memory_fabric.clients.hooks_json import LAUNCHER, PROGRAM, Edited, ours_test, with_member
from memory_fabric.errors import BadInput

OURS = f"/opt/memory-fabric{LAUNCHER}"
IS_OURS = ours_test(LAUNCHER)
SPREAD = '{\n    "a": [1, 2],\n    "b": {}\n}\n'


@pytest.mark.parametrize(
    ("text", "names", "value", "expected"),
    [
        (SPREAD, "b.c", 1, '{\n    "a": [1, 2],\n    "b": {\n        "c": 1\n    }\n}\n'),
        (
            SPREAD,
            "d.e",
            [1],
            '{\n    "a": [1, 2],\n    "b": {},\n    "d": {\n        "e": [\n            1\n'
            "        ]\n    }\n}\n",
        ),
        (SPREAD, "a", [3, 4], '{\n    "a": [1, 2, 3, 4],\n    "b": {}\n}\n'),
        (SPREAD, "a", 7, SPREAD),
        ('{"a": 1}', "b", 2, '{"a": 1, "b": 2}'),
        ('{"a": {}}', "a.b", {"c": 2}, '{"a": {"b": {"c": 2}}}'),
        ("{}", "b", 2, '{\n  "b": 2\n}'),
        ("\ufeff{}\n", "b", 2, '\ufeff{\n  "b": 2\n}\n'),
        ("{ }", "b", 2, '{"b": 2}'),
        ('{\r\n\t"a": 1\r\n}', "b", [2], '{\r\n\t"a": 1,\r\n\t"b": [\r\n\t\t2\r\n\t]\r\n}'),
        ('{"a": 1,\n "b": {}\n}', "b.c", "ü", '{"a": 1,\n "b": {\n   "c": "ü"\n }\n}'),
    ],
)
def test_a_value_is_added_in_the_format_of_its_surroundings(
    text: str, names: str, value: object, expected: str
) -> None:
    done = with_member(Edited(text), "f", tuple(names.split(".")), value)

    assert done.text == expected
    assert hooks_json.undo(done.text, done.edits) == text


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, {"b": "x,}"}, [], {}], "c": {"d": null, "e": [[1]]}}',
        '  {\n "a" : true , "b" : -1.5e3 }\n',
        '{"a": 1, "a": 2}',
        '\ufeff{"\\u00fc": "\\""}',
    ],
)
def test_a_file_is_read_as_json_reads_it(text: str) -> None:
    root = hooks_json.read(text, "f")

    assert root.value == json.loads(text.removeprefix("\ufeff"))
    for part in root.parts:
        assert json.loads("{" + text[part.start : part.end] + "}") == {part.name: part.value}


def test_the_last_of_several_members_with_a_name_counts() -> None:
    root = hooks_json.read('{"a": {"b": 1}, "a": {"b": 2}}', "f")

    assert (found := root.member("a", "b")) and found.value == 2
    assert root.member("x", "b") is root.member("a", "x") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n"a": 1}', "f, line 2: a must be an object"),
        (f'{{"a": {"1" * 5000}}}', "it was left as it is"),
    ],
    ids=["number", "digits"],
)
def test_a_value_in_place_of_an_object_and_a_number_of_many_digits_are_refused(
    text: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        with_member(Edited(text), "f", ("a", "b"), 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"mcpServers": {"x": {}, "memory": OURS}, "y": 1}', '{"mcpServers": {"x": {}}, "y": 1}'),
        ('{"y": 1, "mcpServers": {"memory": OURS}}', '{"y": 1}'),
        ('{ "mcpServers": {"memory": OURS} }', "{}"),
        ('{"mcpServers": {"memory": {}}}', '{"mcpServers": {"memory": {}}}'),
        ('{"mcpServers": {"x": OURS}}', '{"mcpServers": {"x": OURS}}'),
        ('{"mcpServers": []}', '{"mcpServers": []}'),
        ("{}", "{}"),
    ],
)
def test_our_server_is_removed_with_objects_that_become_empty(text: str, expected: str) -> None:
    server = json.dumps({"command": f"/opt/memory-fabric{PROGRAM}"})
    text, expected = text.replace("OURS", server), expected.replace("OURS", server)

    done = hooks_json.without_server(Edited(text), ours_test(PROGRAM), "f")

    assert done.text == expected
    assert hooks_json.undo(done.text, done.edits) == text


def test_a_server_is_not_added_beside_one_of_the_same_name() -> None:
    server = {"command": "x"}
    added = hooks_json.with_server(Edited("{}"), server, "f")

    assert json.loads(added.text) == {"mcpServers": {"memory": server}}
    with pytest.raises(BadInput, match="line 3 on"):
        hooks_json.with_server(added, server, "f")


def test_our_hooks_are_found_and_removed_in_every_form_and_others_stay() -> None:
    ours, other = {"command": OURS}, {"command": "x"}
    windows = {"command": "py", "args": ["-I", "C:\\memory-fabric\\hooks\\launch.py"]}
    groups: dict[str, Any] = {
        "Stop": [{"hooks": [ours, other]}, {"hooks": [other]}, {"hooks": [ours, windows]}],
        "End": [ours],
        "Start": [other],
    }
    text = json.dumps({"hooks": groups, "y": 1}, indent=1)

    found = hooks_json.hooks_of(text, IS_OURS, "f")
    done = hooks_json.without_hooks(Edited(text), IS_OURS, "f")

    assert found == {"Stop": [groups["Stop"][0], groups["Stop"][2]], "End": [ours]}
    assert json.loads(done.text) == {
        "hooks": {"Stop": [{"hooks": [other]}, {"hooks": [other]}], "Start": [other]},
        "y": 1,
    }
    assert hooks_json.undo(done.text, done.edits) == text


@pytest.mark.parametrize(
    "hooks",
    [
        [],
        {"Stop": {}},
        {"Stop": [1]},
        {"Stop": [{"hooks": {"command": OURS}}]},
        {"Stop": [{"hooks": [1, {"command": 2}, {"args": "x"}, {"args": [3]}]}]},
    ],
    ids=str,
)
def test_hooks_of_an_unknown_form_are_left_alone(hooks: object) -> None:
    text = json.dumps({"hooks": hooks})

    assert hooks_json.hooks_of(text, IS_OURS, "f") == {}
    assert hooks_json.without_hooks(Edited(text), IS_OURS, "f") == Edited(text)


def test_a_command_is_ours_by_its_path_its_client_or_a_known_path() -> None:
    is_ours = ours_test(LAUNCHER, "/known", "")
    expected = {
        OURS: True,
        "/known": True,
        f"{VARIABLE}=codex /x{LAUNCHER}": True,
        "C:\\memory-fabric\\hooks\\launch.py": True,
        "": False,
        OURS[1:]: False,
        f"{OURS}er": False,
        f"/opt/other{LAUNCHER}": False,
        f"{VARIABLE}=codex /x/other": False,
        f"X={VARIABLE}= /x{LAUNCHER}": False,
        "C:\\other\\hooks\\launch.py": False,
        "C:\\memory-fabric\\other.py": False,
    }

    assert {command: is_ours(command) for command in expected} == expected
