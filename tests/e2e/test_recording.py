"""scripts/recording: README's animated picture, made by one command from the real client."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from e2e.harness.home import CLIENT_VERSION, REPOSITORY
from e2e.recording.animation import Frame, animation
from e2e.recording.screen import Screen

PICTURE = REPOSITORY / "docs/pictures/session.svg"
MAX_BYTES = 400_000
# What the client and the hooks wrote; no script of the recording holds these words.
SHOWN = (
    f"Claude Code v{CLIENT_VERSION}",
    "Stop says: memory-fabric remembered rule",
    "Stop says: memory-fabric remembered decision",
    "Hook PreToolUse:Bash requires confirmation for this command:",
    "memory-fabric: you have a rule about this call.",
    "Do you want to proceed?",
)
NOTED = r"memory-fabric remembered rule .*?\(([0-9a-f]{8})\).*?\(([0-9a-f]{8})\)"


def words_of(picture: Path) -> str:
    """The text of all runs of a picture, as one line."""
    return " ".join(map(unescape, re.findall(r"<text [^>]*>([^<]*)</text>", picture.read_text())))


@pytest.mark.e2e
def test_the_recording_script_creates_a_picture_of_a_real_client_session(tmp_path: Path) -> None:
    made = tmp_path / "session.svg"

    done = subprocess.run(
        [sys.executable, REPOSITORY / "scripts/recording", "--to", made],
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr
    for picture in (made, PICTURE):
        shown = words_of(picture)
        assert [words for words in SHOWN if words not in shown] == []
        [(rule, decision)] = re.findall(NOTED, shown)
        assert f"- [{rule}] “Never start the dev server" in shown
        assert f"That decision ({decision}) is from an earlier" in shown
        assert picture.stat().st_size < MAX_BYTES
        assert "/tmp/" not in shown
    assert re.findall(NOTED, words_of(made)) != re.findall(NOTED, words_of(PICTURE))


def test_the_recording_shows_real_plugin_output_and_not_scripted_text() -> None:
    sources = [REPOSITORY / "scripts/recording", *(REPOSITORY / "tests/e2e/recording").glob("*.py")]
    written = "\n".join(path.read_text("utf-8") for path in sources)

    assert [words for words in SHOWN[3:5] if words in written] == []
    assert "says: memory-fabric" not in written and CLIENT_VERSION not in written


def test_an_unknown_argument_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, REPOSITORY / "scripts/recording", "--from"], capture_output=True, text=True
    )

    assert done.returncode == 2
    assert "scripts/recording --to FILE" in done.stderr


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("one\r\ntwo", "one\ntwo"),
        ("abcdef", "abcde\nf"),
        ("abcde\r\nf", "abcde\nf"),
        ("a\nb\nc\nd", " b\n  c\n   d"),
        ("abc\x1b[2Gx\x1b[1;5Hy\x1b[Kz", "axc y\nz"),
        ("abc\x1b[2J\x1b[Hd", "d"),
        ("\x1b[2;2Hab\x1b[A\x1b[2Dc\x1b[Bd", " c\n ad"),
        ("ab\b\x1b[Kc\x1b7\x1b[3;1Hd\x1b8e", "ace\n\nd"),
        ("a\x1b]0;title\x07\x1b[?25l\x1b[>0qb\x1b(B", "ab"),
        ("\u5b57b", "\u5b57b"),
        ("old\x1b[?1049hnew", "   ne\nw"),
        ("\t\x1b[Sx", "    x"),
    ],
)
def test_the_simulated_screen_shows_the_output_of_a_program_as_a_terminal_does(
    written: str, shown: str
) -> None:
    for step in (1, len(written)):
        screen = Screen(5, 3)
        for start in range(0, len(written), step):
            screen.feed(written[start : start + step])

        assert screen.text.rstrip("\n") == shown
        assert screen.unknown == []


def test_the_simulated_screen_reports_unknown_control_sequences() -> None:
    screen = Screen(5, 3)

    screen.feed("a\x1b[4Zb\x1bM")

    assert screen.unknown == ["CSI 4Z", "\x1bM"]


def test_an_animation_shows_frames_for_their_duration_and_reuses_equal_rows() -> None:
    screen = Screen(12, 2)
    screen.feed("\x1b[1;38;5;214mgold\x1b[0m <a>\r\n\x1b[7minverse\x1b[0m")
    first = screen.snapshot()
    screen.feed("\x1b[1;1H\x1b[2K\x1b[38;2;1;2;3mnew")

    drawn = animation([Frame(1, "one", first), Frame(3, "two", screen.snapshot())], "a <label>")

    assert "0.000%{transform:translateX(0px)}25.000%{transform:translateX(-133px)}" in drawn
    assert "film 4.00s steps(1) infinite" in drawn
    assert 'fill="#ffaf00" font-weight="bold">gold</text>' in drawn
    assert "&lt;a&gt;</text>" in drawn and "a &lt;label&gt;" in drawn
    assert drawn.count(">inverse</text>") == 1 and drawn.count('href="#r1"') == 2
    assert 'fill="#010203">new</text>' in drawn
