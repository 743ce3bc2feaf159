"""Our hooks in a text that somebody laid out: nothing else of it moves, and all comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.clients import hooks_json, set_up
from memory_fabric.clients.hooks_json import Edited
from memory_fabric.errors import BadInput, StoreUnavailable

ROOT = Path(__file__).parents[3]
LAUNCH = "/opt/memory-fabric/hooks/launch"
HOOK = {"type": "command", "command": LAUNCH, "args": [], "timeout": 5}
GROUPS: dict[str, list[Any]] = {
    "SessionStart": [{"hooks": [HOOK]}],
    "PreToolUse": [{"matcher": "Agent|Task", "hooks": [HOOK]}],
}
OURS = hooks_json.ours_test(hooks_json.LAUNCHER)
# For each line forks a process that sets up, and that is killed before the given one of all calls
# that change a file or a folder; prints its exit code. A new Python each time takes far longer.
KILLED = """
import json, os, signal, sys
from memory_fabric.clients import set_up as setting_up
def count(event, arguments):
    global left
    is_write = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if is_write or event in ("os.rename", "os.mkdir", "os.remove"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
for line in sys.stdin:
    process = os.fork()
    if not process:
        home, path, root, left = json.loads(line)
        change = setting_up.with_hooks(home, path, root)
        sys.addaudithook(count)
        setting_up.apply(home, change)
        sys.exit()
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""
THEIRS = {"hooks": [{"type": "command", "command": "echo"}]}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
hooks = st.dictionaries(
    st.sampled_from(("SessionStart", "PreToolUse", "Stop")), st.lists(st.just(THEIRS), max_size=2)
)
settings = st.builds(
    lambda others, own: (
        {k: v for k, v in others.items() if k != "hooks"} | ({} if own is None else {"hooks": own})
    ),
    st.dictionaries(st.text(max_size=5), values, max_size=4),
    st.none() | hooks,
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A settings object as somebody might have written it."""
    indent = draw(st.sampled_from((None, 1, 2, 3, 4, "\t")))
    separators = draw(st.sampled_from((None, (",", ":"), (" ,", " : "))))
    text = json.dumps(
        draw(settings), indent=indent, separators=separators, ensure_ascii=draw(st.booleans())
    )
    text = draw(st.sampled_from(("", "\n", "  \n"))) + text + draw(st.sampled_from(("", "\n", " ")))
    text = text.replace("\n", draw(st.sampled_from(("\n", "\r\n"))))
    return draw(st.sampled_from(("", hooks_json.BOM))) + text


@given(texts())
def test_undoing_the_hooks_restores_the_settings_byte_for_byte(text: str) -> None:
    done = hooks_json.with_hooks(Edited(text), GROUPS, "settings.json")

    assert hooks_json.undo(done.text, done.edits) == text


@given(texts())
def test_our_hooks_are_appended_and_all_other_settings_are_kept(text: str) -> None:
    before = json.loads(text.removeprefix(hooks_json.BOM))

    edited = hooks_json.with_hooks(Edited(text), GROUPS, "settings.json")
    done = json.loads(edited.text.removeprefix(hooks_json.BOM))

    own = before.get("hooks", {})
    assert {k: v for k, v in done.items() if k != "hooks"} == {
        k: v for k, v in before.items() if k != "hooks"
    }
    assert done["hooks"] == {**own, **{e: own.get(e, []) + g for e, g in GROUPS.items()}}


@given(texts())
def test_removing_our_hooks_keeps_all_other_hooks_and_settings(text: str) -> None:
    inside = hooks_json.with_hooks(Edited(text), GROUPS, "settings.json").text

    done = hooks_json.without_hooks(Edited(inside), OURS, "settings.json").text

    before, after = (json.loads(t.removeprefix(hooks_json.BOM)) for t in (text, done))
    kept = {event: groups for event, groups in before.pop("hooks", {}).items() if groups}
    rest = {event: groups for event, groups in after.pop("hooks", {}).items() if groups}
    assert (after, rest) == (before, kept)
    assert OURS(LAUNCH) and LAUNCH not in done


@given(texts())
def test_line_ends_and_indentation_are_those_of_the_text(text: str) -> None:
    done = hooks_json.with_hooks(Edited(text), GROUPS, "settings.json").text

    assert done.count("\r\n") == (done.count("\n") if "\r\n" in text else 0)
    around = hooks_json.BOM + " \t\r\n"
    body = text.strip(around)
    if "\n" not in body and body != "{}":
        assert "\n" not in done.strip(around)


def test_an_added_hook_is_indented_like_the_settings_around_it() -> None:
    text = '{\n\t"model": "x",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}\n'

    done = hooks_json.with_hooks(Edited(text), {"Stop": [THEIRS]}, "settings.json").text

    assert '\n\t\t"Stop": [\n\t\t\t{\n\t\t\t\t"hooks": [\n' in done
    assert done.endswith("\n\t\t\t}\n\t\t]\n\t}\n}\n")


def test_removing_our_hook_from_a_group_keeps_the_other_hooks_of_the_group() -> None:
    other = {"type": "command", "command": "echo"}
    text = json.dumps({"hooks": {"Stop": [{"hooks": [other, HOOK, other]}]}}, indent=2)

    done = hooks_json.without_hooks(Edited(text), OURS, "settings.json").text

    assert json.loads(done) == {"hooks": {"Stop": [{"hooks": [other, other]}]}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  // mine\n  "a": 1\n}', "line 2"),
        ('{\n  "a": 1,\n}', "line 3"),
        ("[]", "line 1: the file must be an object"),
        ('{\n"hooks": []}', "line 2: hooks must be an object"),
        ('{"hooks": {\n\n"SessionStart": {}}}', "line 3: hooks.SessionStart must be a list"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_an_invalid_settings_file_is_refused_with_a_reason(text: str, said: str) -> None:
    with pytest.raises(BadInput, match="left as it is") as caught:
        hooks_json.with_hooks(Edited(text), GROUPS, "settings.json")

    assert said in str(caught.value)


def test_setup_does_not_overwrite_a_settings_file_that_changed_after_the_preview(
    tmp_path: Path,
) -> None:
    path, home = tmp_path / "settings.json", str(tmp_path / "home")
    path.write_bytes(b"{}")
    change = set_up.with_hooks(home, str(path), str(ROOT))
    path.write_bytes(b'{"model": "x"}')

    with pytest.raises(StoreUnavailable, match="changed meanwhile"):
        set_up.apply(home, change)

    assert path.read_bytes() == b'{"model": "x"}'
    assert set_up.marks(home) == []


def test_secrets_in_the_settings_file_are_not_copied_into_home(tmp_path: Path) -> None:
    path, home = tmp_path / "settings.json", tmp_path / "home"
    path.write_text('{"env": {"TOKEN": "not-for-others"}}', "utf-8")

    set_up.apply(str(home), set_up.with_hooks(str(home), str(path), str(ROOT)))

    assert "not-for-others" not in (home / "setup.json").read_text("utf-8")
    assert (home / "setup.json").stat().st_mode & 0o777 == 0o600


def test_a_linked_settings_file_remains_a_link_and_its_target_keeps_its_mode(
    tmp_path: Path,
) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / "settings.json"
    real.write_bytes(b"{}\n")
    real.chmod(0o640)
    link.symlink_to(real)
    home = str(tmp_path / "home")

    set_up.apply(home, set_up.with_hooks(home, str(link), str(ROOT)))
    written = real.read_bytes()
    set_up.apply(home, set_up.without_hooks(home, str(link), str(ROOT)))

    assert link.is_symlink()
    assert b"hooks/launch" in written
    assert real.read_bytes() == b"{}\n"
    assert real.stat().st_mode & 0o777 == 0o640


def test_our_hooks_can_be_removed_even_if_the_file_setup_json_is_damaged(tmp_path: Path) -> None:
    path, home = tmp_path / "settings.json", tmp_path / "home"
    path.write_bytes(b'{"model": "x"}\n')
    set_up.apply(str(home), set_up.with_hooks(str(home), str(path), str(ROOT)))
    (home / "setup.json").write_text('{"marks": [{"path": 1}, "x"]}', "utf-8")

    set_up.apply(str(home), set_up.without_hooks(str(home), str(path), str(ROOT)))

    assert json.loads(path.read_bytes()) == {"model": "x"}


@pytest.mark.parametrize("foreign", [{"type": "prompt", "prompt": "hi"}, {}, 1, None])
def test_another_programs_hook_without_a_command_is_kept_when_our_hooks_are_removed(
    tmp_path: Path, foreign: object
) -> None:
    path, home = tmp_path / "settings.json", str(tmp_path / "home")
    before = json.dumps({"hooks": {"Stop": [{"hooks": [foreign]}]}})
    path.write_text(before, "utf-8")

    set_up.apply(home, set_up.with_hooks(home, str(path), str(ROOT)))
    written = json.loads(path.read_bytes())
    set_up.apply(home, set_up.without_hooks(home, str(path), str(ROOT)))

    assert written["hooks"]["Stop"][0] == {"hooks": [foreign]}
    assert path.read_text("utf-8") == before


@pytest.mark.parametrize("foreign", [{"type": "http", "url": "http://localhost:1"}, None])
def test_an_mcp_server_named_memory_of_another_program_is_neither_replaced_nor_removed(
    tmp_path: Path, foreign: object
) -> None:
    path, home = tmp_path / ".mcp.json", str(tmp_path / "home")
    before = json.dumps({"mcpServers": {"memory": foreign}})
    path.write_text(before, "utf-8")

    with pytest.raises(BadInput, match="has a server named memory already"):
        set_up.with_hooks(home, str(path), str(ROOT), {}, has_server=True)

    assert set_up.without_hooks(home, str(path), str(ROOT)).is_none


def test_removing_our_hooks_restores_a_settings_file_that_was_blank(tmp_path: Path) -> None:
    path, home = tmp_path / "settings.json", str(tmp_path / "home")
    path.write_bytes(b" \n\t\n")

    set_up.apply(home, set_up.with_hooks(home, str(path), str(ROOT)))
    written = path.read_bytes()
    set_up.apply(home, set_up.without_hooks(home, str(path), str(ROOT)))

    assert b"hooks/launch" in written
    assert path.read_bytes() == b" \n\t\n"


def test_a_settings_file_with_a_number_of_too_many_digits_is_refused() -> None:
    with pytest.raises(BadInput, match="Exceeds the limit"):
        hooks_json.read('{"a": ' + "9" * 5000 + "}", "settings.json")


@pytest.fixture(scope="module")
def set_up_killed() -> Iterator[Callable[[Path, Path, int], int]]:
    """A function that sets up in a process that is killed at a moment: its exit code."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED],
        env={**os.environ, "PYTHONPATH": str(ROOT / "plugin")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def run(home: Path, path: Path, moment: int) -> int:
        assert process.stdin and process.stdout
        print(json.dumps([str(home), str(path), str(ROOT), moment]), file=process.stdin, flush=True)
        return int(process.stdout.readline())

    with process:
        yield run


@pytest.mark.parametrize("before", [None, b"", b'{"hooks": {}}', b"{}"])
def test_a_setup_killed_at_any_moment_can_be_undone_byte_for_byte(
    tmp_path: Path, set_up_killed: Callable[[Path, Path, int], int], before: bytes | None
) -> None:
    for moment in range(40):
        folder = tmp_path / str(moment)
        path, home = folder / "client" / "settings.json", folder / "home"
        folder.mkdir()
        if before is not None:
            path.parent.mkdir()
            path.write_bytes(before)

        code = set_up_killed(home, path, moment)
        left = path.read_bytes() if path.exists() else None
        change = set_up.without_hooks(str(home), str(path), str(ROOT))
        if not change.is_none:
            set_up.apply(str(home), change)

        assert left == before or (left and b"hooks/launch" in left)
        assert (path.read_bytes() if path.exists() else None) == before
        if not code:
            break
    assert code == 0
    assert moment > 4


def test_a_settings_file_that_became_a_link_remains_a_link_when_our_hooks_are_removed(
    tmp_path: Path,
) -> None:
    path, moved, home = tmp_path / "settings.json", tmp_path / "dotfiles.json", str(tmp_path / "h")
    set_up.apply(home, set_up.with_hooks(home, str(path), str(ROOT)))
    path.rename(moved)
    path.symlink_to(moved)

    set_up.apply(home, set_up.without_hooks(home, str(path), str(ROOT)))

    assert path.is_symlink()
    assert json.loads(moved.read_bytes()) == {}


def test_hooks_added_through_a_linked_path_can_be_removed_through_the_real_path(
    tmp_path: Path,
) -> None:
    real, link, home = tmp_path / "real", tmp_path / "link", str(tmp_path / "home")
    real.mkdir()
    link.symlink_to(real)
    (real / "settings.json").write_bytes(b'{"a":1}')
    by_link, by_name = str(link / "settings.json"), str(real / "settings.json")
    set_up.apply(home, set_up.with_hooks(home, by_link, str(ROOT)))

    change = set_up.without_hooks(home, by_name, str(ROOT))
    set_up.apply(home, change)

    assert change.restores
    assert (real / "settings.json").read_bytes() == b'{"a":1}'
    assert set_up.marks(home) == []
