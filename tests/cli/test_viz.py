"""viz: a page in one file, drawings as text, and a browser only where somebody sits."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pexpect
import pytest

from cli.shell import ROOT, Shell
from drawn import token

USES = ("--why", "offsets are slow", "Use cursor-pagination for the orders-api")


@pytest.fixture
def told(shell: Shell) -> Shell:
    """A shell in a project of which something is remembered."""
    shell.remember(*USES)
    return shell


def snapshot(shell: Shell) -> Path:
    """The page that lies in home."""
    (found,) = (shell.memory / "pages").iterdir()
    return found


def embedded(html: str) -> dict[str, object]:
    """Return the data embedded in a page."""
    begin = html.index(">", html.index('id="memory"')) + 1
    found: dict[str, object] = json.loads(html[begin : html.index("</script>", begin)])
    return found


def mode(path: Path) -> int:
    """The permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_viz_writes_a_private_page_in_the_memory_home_and_prints_the_path(told: Shell) -> None:
    done = told.run("viz")

    page = snapshot(told)
    assert (done.status, done.err) == (0, "")
    assert done.out == f"Open it in a browser: {page}\n"
    assert page.name.startswith("shop-") and page.suffix == ".html"
    assert (mode(page.parent), mode(page)) == (0o700, 0o600)
    assert len(embedded(page.read_text("utf-8"))["entities"]) >= 2  # type: ignore[arg-type]


def test_viz_replaces_the_earlier_page_with_one_that_shows_new_memories(told: Shell) -> None:
    told.run("viz")
    told.remember("Always use UTC in the audit-log")

    told.run("viz")

    assert "audit-log" in snapshot(told).read_text("utf-8")


def test_viz_without_a_memory_says_how_to_add_memories(shell: Shell) -> None:
    done = shell.run("viz")

    assert done.status == 3
    assert "Nothing is remembered here yet. Add memories with memory-fabric remember" in done.err
    assert not (shell.memory / "pages").exists()


def test_viz_of_a_damaged_memory_shows_nothing(told: Shell) -> None:
    told.database.write_bytes(b"no database " * 400)

    done = told.run("viz", "--json")

    assert (done.status, done.out) == (1, "")
    assert "Nothing can be shown: " in done.err


def test_viz_json_output_equals_the_data_embedded_in_the_page(told: Shell) -> None:
    printed = told.run("viz", "--json").json
    told.run("viz", "--no-open")

    shown = embedded(snapshot(told).read_text("utf-8"))
    moments = ("made_at", "tiers")
    assert {k: v for k, v in shown.items() if k not in moments} == {
        k: v for k, v in printed.items() if k not in moments
    }


def test_viz_with_an_entity_name_sets_the_focus_to_that_entity(told: Shell) -> None:
    assert told.run("viz", "Cursor_Pagination", "--json").json["focus"] == "cursor-pagination"


def test_viz_answers_an_unknown_name_with_similar_names(told: Shell) -> None:
    done = told.run("viz", "cursor-paginatoin")

    assert done.status == 3
    assert "There is no entity 'cursor-paginatoin'. Near to it: 'cursor-pagination'." in done.err


def test_viz_prints_mermaid_drawings_to_standard_output(told: Shell) -> None:
    mermaid = told.run("viz", "--mermaid")

    assert mermaid.status == 0
    assert mermaid.out.startswith("flowchart LR\n")
    assert "cursor-pagination" in mermaid.out
    assert not (told.memory / "pages").exists()


def test_the_depth_option_sets_how_far_a_drawing_reaches_from_the_entity(shell: Shell) -> None:
    graph = [{"type": "entity", "name": n, "entityType": "t", "observations": []} for n in "abcd"]
    edges = [
        {"type": "relation", "from": a, "to": b, "relationType": "to"}
        for a, b in ("ab", "bc", "cd")
    ]
    shell.run("import", "-", stdin="\n".join(map(json.dumps, [*graph, *edges])))

    near = shell.run("viz", "a", "--mermaid").out
    farther = shell.run("viz", "a", "--mermaid", "--depth", "2").out

    assert (near.count("<br/>"), farther.count("<br/>")) == (2, 3)


def test_viz_writes_to_the_file_or_standard_output_given_by_option_out(
    told: Shell,
) -> None:
    done = told.run("viz", "--out", "memory.html", "--no-open")
    streamed = told.run("viz", "--out", "-")
    told.run("viz", "--mermaid", "--out", "graph.mmd")

    page = told.project / "memory.html"
    assert done.out == f"{page}\n"
    assert mode(page) == 0o600
    assert embedded(streamed.out)["project"] == embedded(page.read_text("utf-8"))["project"]
    assert (told.project / "graph.mmd").read_text("utf-8").startswith("flowchart")
    assert not (told.memory / "pages").exists()


def test_viz_with_force_does_not_replace_a_named_pipe_or_a_link_to_it(told: Shell) -> None:
    pipe = told.project / "pipe"
    os.mkfifo(pipe)
    (told.project / "link").symlink_to("pipe")

    for target in ("pipe", "link"):
        done = told.run("viz", "--out", target, "--force")

        assert (done.status, done.out) == (2, "")
        assert f"{target} exists and is not a regular file" in done.err
    assert pipe.is_fifo()


def test_viz_does_not_overwrite_an_existing_file_without_force(told: Shell) -> None:
    target = told.project / "memory.html"
    target.write_text("mine", "utf-8")

    refused = told.run("viz", "--out", "memory.html")
    kept = target.read_text("utf-8")
    forced = told.run("viz", "--out", "memory.html", "--force")

    assert (refused.status, kept) == (2, "mine")
    assert "memory.html exists; nothing was written. Use --force to replace it." in refused.err
    assert forced.status == 0
    assert target.read_text("utf-8") != "mine"


@pytest.mark.parametrize(
    ("words", "because"),
    [
        (("--mermaid", "--json"), "exclude each other"),
        (("--depth", "2"), "needs an entity and a drawing"),
        (("cursor-pagination", "--depth", "2"), "needs an entity and a drawing"),
        (("--depth", "4"), "--depth"),
        (("--out", "nowhere/memory.html"), "does not exist"),
    ],
)
def test_invalid_options_of_viz_give_a_one_line_error_message(
    told: Shell, words: tuple[str, ...], because: str
) -> None:
    done = told.run("viz", *words)

    assert (done.status, done.out) == (2, "")
    assert because in done.err
    assert done.err.count("\n") == 1


def watched(shell: Shell, tmp_path: Path, *words: str, **variables: str) -> tuple[str, Path]:
    """Return viz's output on a terminal, and the file with what the browser was given."""
    given = tmp_path / "given"
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{given}"\n')
    program.chmod(0o755)
    environ = {**shell.environ, "BROWSER": f"{program} %s", "COLUMNS": "500", **variables}
    screen, status = pexpect.run(
        " ".join([sys.executable, "-m", "memory_fabric.cli", "viz", *words]),
        env={name: value for name, value in environ.items() if value},
        cwd=str(shell.project),
        withexitstatus=True,
    )
    assert status == 0
    return screen.decode(), given


def test_viz_on_a_terminal_opens_the_page_in_the_browser(told: Shell, tmp_path: Path) -> None:
    screen, given = watched(told, tmp_path)

    assert "Opened in the browser: " in screen
    assert given.read_text() == snapshot(told).as_uri()


def test_viz_opens_no_browser_if_told_not_to_or_without_a_display(
    told: Shell, tmp_path: Path
) -> None:
    asked_not_to, given = watched(told, tmp_path, "--no-open")
    no_display, _ = watched(told, tmp_path, BROWSER="", DISPLAY="", WAYLAND_DISPLAY="")

    assert str(snapshot(told)) in asked_not_to
    assert "Open it in a browser: " in no_display
    assert not given.exists()


def test_a_purge_deletes_the_stored_pages_of_viz(told: Shell) -> None:
    secret = "The unreleased product is called Aurora Borealis"
    told.remember(secret)
    told.run("viz")
    held = secret in snapshot(told).read_text("utf-8")

    done = told.run("forget", "Aurora Borealis", "--purge", "--yes")

    assert held
    assert (done.status, done.err) == (0, "")
    assert list((told.memory / "pages").iterdir()) == []


def test_secrets_in_memories_appear_neither_in_the_page_nor_in_the_json_output(told: Shell) -> None:
    secret = token()
    told.remember(f"The deploy key is {secret} and lies in the vault")

    assert secret not in told.run("viz", "--out", "-").out
    assert secret not in told.run("viz", "--json").out


def test_viz_help_does_not_import_the_viewer() -> None:
    done = pexpect.run(
        f'{sys.executable} -c "import sys; from memory_fabric.cli.main import main; '
        "main(['viz', '--help']); print(sorted(m for m in sys.modules if 'viewer' in m))\"",
        env={"PYTHONPATH": str(ROOT / "plugin"), "HOME": "/nonexistent"},
    ).decode()

    assert done.rstrip().endswith("[]")


def test_a_file_for_json_or_a_drawing_is_only_named(told: Shell) -> None:
    done = told.run("viz", "--json", "--out", "data.json")
    page = told.run("viz", "--out", "page.html")

    assert done.out == f"{told.project / 'data.json'}\n"
    assert page.out == f"Open it in a browser: {told.project / 'page.html'}\n"
    data = json.loads((told.project / "data.json").read_text("utf-8"))
    assert "focus" not in data and data["entities"]
