"""The repositories of the tasks: archives of PyPI, checked by their hashes, and the kept files."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

LIST = Path(__file__).with_name("repositories.toml")
TIMEOUT_S = 300
LAST_LINES = 5


class Repository(NamedTuple):
    """A released project; `keep` names files and folders of its archive."""

    name: str
    version: str
    sha256: str
    license: str
    keep: tuple[str, ...]


class NotFetched(Exception):
    """An archive could not be downloaded, or is another one than repositories.toml names."""


def repositories() -> dict[str, Repository]:
    """Return the repositories by their names."""
    return {
        name: Repository(name, row["version"], row["sha256"], row["license"], tuple(row["keep"]))
        for name, row in tomllib.loads(LIST.read_text("utf-8")).items()
    }


def fetch(name: str, cache_folder: str | os.PathLike[str]) -> Path:
    """Return a folder with the kept files of a repository; copy it before you change them.

    Downloads the source archive with pip unless `cache_folder` has it. Several processes may do so
    at once. Raises KeyError for an unknown name, NotFetched if the archive does not arrive or its
    hash differs.
    """
    repository = repositories()[name]
    cache = Path(cache_folder)
    folder = cache / f"{name}-{repository.sha256[:12]}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as work:
            archive = _download(repository, Path(work))
            _check(archive, repository)
            _unpack(archive, repository, Path(work) / "kept")
            _publish(Path(work) / "kept", folder)
    return folder


def _download(repository: Repository, folder: Path) -> Path:
    # Not ":all:", which has pip compile the build backend from its sources too.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-cache-dir", "--no-binary", repository.name]
    command += ["--dest", str(folder), f"{repository.name}=={repository.version}"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise NotFetched(
            f"{repository.name} {repository.version} did not arrive from PyPI in {TIMEOUT_S} s: "
            "check the network, then run this again"
        ) from error
    except subprocess.CalledProcessError as error:
        lines = "\n".join(error.stderr.strip().splitlines()[-LAST_LINES:])
        raise NotFetched(
            f"pip could not download {repository.name} {repository.version} from PyPI; "
            f"check the network or pip's index, then run this again. pip said:\n{lines}"
        ) from error
    return next(folder.glob("*.tar.gz"))


def _check(archive: Path, repository: Repository) -> None:
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    if sha256 != repository.sha256:
        raise NotFetched(
            f"{archive.name} has the SHA-256 {sha256}, repositories.toml says "
            f"{repository.sha256}: it is not the archive for which the tasks were written"
        )


def _unpack(archive: Path, repository: Repository, folder: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            path = member.name.partition("/")[2]
            kept = any(path == keep or path.startswith(f"{keep}/") for keep in repository.keep)
            if kept and member.isfile() and (source := tar.extractfile(member)):
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with source, target.open("wb") as file:
                    shutil.copyfileobj(source, file)


def _publish(kept: Path, folder: Path) -> None:
    try:
        kept.rename(folder)
    except OSError:
        if not folder.exists():  # otherwise another process was faster
            raise
