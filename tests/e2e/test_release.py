"""scripts/release, tried dry: it builds what a release publishes and changes nothing here."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from e2e.harness.home import REPOSITORY, passed_on
from e2e.harness.home import repository as start_of

VERSION = "99.0.0"
SUBJECT = "Start"


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository with this checkout's files in one commit."""

    folder: Path

    def git(self, *arguments: str) -> str:
        """The output of git in the repository."""
        command = ["git", "-C", str(self.folder), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    def release(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run its script with a name for git, and of the developer's settings only the index."""
        environ = {
            **{name: value for name, value in os.environ.items() if passed_on(name)},
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder.parent),
            **{f"GIT_{role}_NAME": "Ann" for role in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{role}_EMAIL": "ann@example.com" for role in ("AUTHOR", "COMMITTER")},
        }
        return subprocess.run(
            [sys.executable, self.folder / "scripts/release", *arguments],
            env=environ,
            capture_output=True,
            text=True,
        )


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A repository of its own, in which everything is committed; every test leaves it so."""
    return Repository(start_of(tmp_path_factory.mktemp("release") / "clone"))


@dataclass(frozen=True, slots=True)
class Built:
    """A release that was tried: when, what the script said, and the files that it built by name."""

    began: date
    done: subprocess.CompletedProcess[str]
    files: dict[str, Path]


@pytest.fixture(scope="module")
def built(repository: Repository, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A release that was tried dry; building it is the same as with `--build`."""
    began, target = datetime.now(UTC).date(), tmp_path_factory.mktemp("built") / "release"
    done = repository.release(VERSION, "--dry-run", "--to", target)
    assert done.returncode == 0, done.stderr
    return Built(began, done, {path.name: path for path in target.iterdir()})


@pytest.fixture
def unready(repository: Repository, built: Built) -> Iterator[Repository]:
    """The repository while it has a tag of the version, and a file that is not committed."""
    repository.git("tag", f"v{VERSION}")
    (repository.folder / "draft").write_text("")
    yield repository
    (repository.folder / "draft").unlink()
    repository.git("tag", "--delete", f"v{VERSION}")


def test_a_dry_run_builds_the_release_without_changing_the_repository(
    repository: Repository, built: Built
) -> None:
    said = built.done.stdout
    assert f"Release {VERSION}" in said and f"tag: v{VERSION}" in said
    assert repository.git("log", "--format=%s") == SUBJECT
    assert repository.git("tag") == repository.git("status", "--porcelain") == ""
    wheel = f"agent_memory_fabric-{VERSION}-py3-none-any.whl"
    package, bill = f"memory-fabric-{VERSION}.tar.gz", f"memory-fabric-{VERSION}.cdx.json"
    files = built.files
    assert set(files) == {wheel, package, bill, "SHA256SUMS"}
    listed = dict(line.split("  ")[::-1] for line in files["SHA256SUMS"].read_text().splitlines())
    assert listed == {
        name: hashlib.sha256(files[name].read_bytes()).hexdigest()
        for name in (wheel, package, bill)
    }
    with tarfile.open(files[package]) as tar:
        manifest = tar.extractfile(f"memory-fabric-{VERSION}/.claude-plugin/plugin.json")
        changelog = tar.extractfile(f"memory-fabric-{VERSION}/CHANGELOG.md")
        assert manifest and json.load(manifest)["version"] == VERSION
        assert changelog
        [day] = re.findall(rf"^## {VERSION} - (\S+)$", changelog.read().decode(), re.MULTILINE)
    assert built.began <= date.fromisoformat(day) <= datetime.now(UTC).date()
    assert (
        f'__version__ = "{VERSION}"'
        in zipfile.ZipFile(files[wheel])
        .read("memory_fabric_plugin/plugin/memory_fabric/__init__.py")
        .decode()
    )


def test_the_bill_of_materials_lists_every_pinned_dependency(
    built: Built,
) -> None:
    [bill] = [path for name, path in built.files.items() if name.endswith(".cdx.json")]
    listed = json.loads(bill.read_text("utf-8"))
    locks = (REPOSITORY / "plugin").glob("*.lock")
    pins = {
        pin for lock in locks for pin in re.findall(r"^([\w.-]+==[\w.+-]+)", lock.read_text(), re.M)
    }
    named = {f"{part['name']}=={part['version']}" for part in listed["components"]}
    assert len(pins) > 40
    assert named - pins == {"force-graph==1.52.0"} and pins <= named
    assert (listed["bomFormat"], listed["specVersion"]) == ("CycloneDX", "1.6")
    assert listed["dependencies"][0]["dependsOn"] == [p["bom-ref"] for p in listed["components"]]


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("next", "no version"),
        ("0.0.1", "not newer"),
        (VERSION, f"the tag v{VERSION} exists"),
        ("99.0.1", "not committed"),
    ],
)
def test_a_release_that_is_not_ready_is_refused_with_the_remedy(
    unready: Repository, version: str, reason: str
) -> None:
    done = unready.release(version)

    assert done.returncode == 1 and reason in done.stderr
    assert unready.git("log", "--format=%s") == SUBJECT


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("wanted", [VERSION, "--build"])
def test_a_failed_build_leaves_version_and_changelog_unchanged(
    repository: Repository, tmp_path: Path, wanted: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/other").write_text("")

    done = repository.release(wanted, "--to", tmp_path / "full")

    assert done.returncode == 1 and "is not empty" in done.stderr
    assert repository.git("status", "--porcelain") == repository.git("tag") == ""
