"""The tools that install: pip and uv, found, pretended or broken, and packages that are source."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from launchers.installation_site import Site, pretended_uv, read_log, version_in
from launchers.support import (
    executable,
    make_source_archive,
    write,
)


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_a_package_available_only_as_source_is_reported_and_not_built(
    site: Site, tmp_path: Path, tool: str
) -> None:
    mark = str(tmp_path / "mark")
    shutil.rmtree(site.index.folder)
    lock = make_source_archive(site.index.folder, "1.0", mark)
    write(os.path.join(site.root, "plugin", "requirements.lock"), lock)

    site.start(PATH=f"{pretended_uv(site)}:/usr/bin:/bin" if tool == "uv" else "/usr/bin:/bin")
    site.finished()

    assert "/simple/tinypkg/" in site.index.asked
    assert not os.path.exists(mark)
    assert site.installed() is None
    assert "nothing is built from source" in site.ask("i.last_error(data)")


def test_uv_is_used_if_it_is_on_the_path(site: Site) -> None:
    tools = pretended_uv(site)

    site.start(PATH=f"{tools}:/usr/bin:/bin")
    site.finished()

    python = site.installed()
    assert python and version_in(python) == "1.0"
    commands = [line for line in read_log(site) if line.startswith("$ ")]
    assert len(commands) == 2
    assert commands[1].startswith(f"$ {tools}/uv pip install ")
    assert "--only-binary :all:" in commands[1] and "--require-hashes" in commands[1]


def test_a_uv_program_in_the_project_folder_is_not_run(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, project = tmp_path / "mark", tmp_path / "project"
    for folder in (".", "tools"):
        executable(str(project / folder / "uv"), f"#!/bin/sh\ntouch {str(mark)!r}\nexit 1\n")
    monkeypatch.chdir(project)
    path = os.pathsep.join(("", ".", "tools", str(project / "tools"), "/usr/bin", "/bin"))

    site.start(PATH=path, CLAUDE_PROJECT_DIR=str(project))
    site.finished()

    assert site.installed()
    assert not mark.exists()


def test_pip_is_used_when_uv_is_broken(site: Site) -> None:
    tools = os.path.join(site.home, "tools")
    executable(os.path.join(tools, "uv"), "#!/bin/sh\necho broken >&2\nexit 3\n")

    site.start(PATH=f"{tools}:/usr/bin:/bin")
    site.finished()

    assert site.installed()
    assert "broken" in read_log(site)
