"""The installed plugin, from scripts/package or a host: small, fit for the directory, working."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from e2e.harness.home import PLUGIN, REPOSITORY, Home, repository
from e2e.harness.result import blocks
from e2e.harness.script import Script

pytestmark = pytest.mark.e2e

DECISION = "We decided to use PostgreSQL for the analytics DB because it handles our query load."
README = (REPOSITORY / "README.md").read_text("utf-8")
NEVER = {"tests", "benchmarks", "evals", "pictures", "node_modules", "__pycache__", ".venv", ".git"}


def package(target: Path) -> subprocess.CompletedProcess[str]:
    """Run the script for a folder."""
    command = [sys.executable, str(REPOSITORY / "scripts/package"), str(target)]
    return subprocess.run(command, capture_output=True, text=True)


class GitHost(BaseHTTPRequestHandler):
    """Serves git repositories below `folder` as a host does, by git's own program for that."""

    folder = ""

    def do_GET(self) -> None:
        """Answer a request by `git http-backend`."""
        path, _, query = self.path.partition("?")
        variables = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": self.folder,
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
        }
        asked = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        done = subprocess.run(
            ["git", "http-backend"], input=asked, env=variables, capture_output=True
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[str]:
    """The address of this checkout's repository on a host."""
    served = repository(tmp_path / "memory-fabric")
    subprocess.run(["git", "-C", served, "config", "uploadpack.allowFilter", "true"], check=True)
    handler = type("Served", (GitHost,), {"folder": str(tmp_path)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/memory-fabric/.git"
        server.shutdown()


def files_of(folder: Path) -> list[Path]:
    """The files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_the_package_passes_the_strict_checks_of_the_plugin_directory(
    empty_home: Home, packaged: Path
) -> None:
    said = empty_home.claude(
        "plugin", "validate", "--profile", "directory", "--strict", str(packaged)
    )

    assert "Validation passed" in said and "nothing to report" in said


def is_small(home: Home) -> None:
    """Assert that the installed plugin has few files and none of the developers'."""
    installed = home.program.parents[1]
    files = files_of(installed)

    assert len(files) <= 700 and sum(path.stat().st_size for path in files) <= 8_000_000
    assert {part for path in files for part in path.relative_to(installed).parts} & NEVER == set()


def test_the_installed_package_stays_within_the_size_limit(installed_home: Home) -> None:
    """That its hooks answer: each test with a home that has the plugin."""
    is_small(installed_home)


def test_a_package_installed_as_the_readme_describes_has_working_hooks(
    empty_home: Home, host: str
) -> None:
    home = empty_home
    [line] = re.findall(r"^claude (plugin marketplace add OWNER/REPO .*)$", README, re.MULTILINE)

    home.claude(*shlex.split(line.replace("OWNER/REPO", host)))
    home.claude("plugin", "install", PLUGIN)
    is_small(home)
    home.bring_packages()
    result = home.session(Script(prompts=(DECISION, "/compact keep it short", "Go on.")))

    assert any("PostgreSQL" in block for block in blocks(result.main_texts[-1]))
    assert home.log == ""


def test_no_markdown_page_of_the_package_links_to_a_missing_file(packaged: Path) -> None:
    dead = [
        (page.relative_to(packaged), target)
        for page in packaged.rglob("*.md")
        for target in re.findall(r"\]\((?![a-z]+:)([^)#\s]+)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]

    assert dead == []


def test_building_a_package_replaces_the_previous_package_in_the_folder(
    packaged: Path, tmp_path: Path
) -> None:
    first = tmp_path / "package"
    shutil.copytree(packaged, first)
    (first / "plugin/leftover.py").write_text("")

    done = package(first)

    assert done.returncode == 0 and not (first / "plugin/leftover.py").exists()


def test_building_a_package_into_a_folder_with_other_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Ann")

    done = package(tmp_path)

    assert done.returncode == 1 and str(tmp_path) in done.stderr
    assert (tmp_path / "letter.txt").read_text() == "Dear Ann"


@pytest.mark.parametrize("place", [".", "..", "docs/package"])
def test_building_a_package_into_the_checkout_or_its_parent_folder_is_refused(place: str) -> None:
    done = package(REPOSITORY / place)

    assert done.returncode == 1 and "name another folder" in done.stderr
    assert not (REPOSITORY / "docs/package").exists()
