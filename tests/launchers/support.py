"""Stand-in plugin roots, interpreters that are wrong on purpose, and waiting with a deadline."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
# What find-python.sh and bin/memory-fabric call besides the shell's own words; `echo`, `printf`
# and `test` are such words in most shells.
TOOLS = ("cat", "dirname", "echo", "head", "mkdir", "mv", "printf", "readlink", "rm")
PROMPT = b'{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"hello"}'
START = b'{"session_id":"s","hook_event_name":"SessionStart","source":"startup"}'

# Does of uv what an installation needs, in a tenth of the time that pip takes: fetches the wheels
# of a lock from the index, compares their hashes, unpacks them.
QUICK_UV = """\
import hashlib, io, os, re, sys, urllib.request, zipfile
from pathlib import Path
if sys.argv[1:4] != ["pip", "install", "--python"]:
    sys.exit(2)
environment = Path(sys.argv[4]).parent.parent
(site,) = environment.glob("lib/python*/site-packages")
index = os.environ["PIP_INDEX_URL"]
for line in Path(sys.argv[-1]).read_text().splitlines():
    name, version, wanted = re.fullmatch(r"(\\S+)==(\\S+) --hash=sha256:(\\w+)", line).groups()
    page = urllib.request.urlopen(f"{index}/{name}/").read().decode()
    (address,) = re.findall(f'href="([^"]*/{name}-{version}-[^"]*[.]whl)"', page)
    body = urllib.request.urlopen(index.removesuffix("/simple") + address).read()
    if hashlib.sha256(body).hexdigest() != wanted:
        sys.exit("hash mismatch")
    zipfile.ZipFile(io.BytesIO(body)).extractall(site)
"""

# A stand-in for the dispatcher: writes what it was given into the file $REPORT.
REPORTER = """\
import json, os, resource, sys, zlib
def main(left=None):
    data = left.data if left else sys.stdin.buffer.read()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = {
        "executable": sys.executable, "isolated": sys.flags.isolated, "no_site": sys.flags.no_site,
        "argv": sys.argv, "length": len(data), "checksum": zlib.crc32(data), "pid": os.getpid(),
        "child_faults": children.ru_minflt, "pycache_prefix": sys.pycache_prefix,
        "root": os.environ.get("CLAUDE_PLUGIN_ROOT"), "data": os.environ.get("CLAUDE_PLUGIN_DATA"),
    }
    with open(os.environ["REPORT"], "w") as file:
        json.dump(report, file)
"""


def make_root(folder: str) -> str:
    """A plugin root: the real hooks/, bin/ and installer, and a dispatcher that reports."""
    package = os.path.join(folder, "plugin", "memory_fabric")
    os.makedirs(package)
    for name in ("hooks", "bin"):
        shutil.copytree(os.path.join(ROOT, name), os.path.join(folder, name))
    os.makedirs(os.path.join(package, "setup"))
    for name in ("__init__.py", "packages.py", "install_packages.py"):
        source = os.path.join(ROOT, "plugin", "memory_fabric", "setup", name)
        shutil.copy(source, os.path.join(package, "setup"))
    for name in ("file_lock.py", "live_client.py", "processes.py"):
        shutil.copy(os.path.join(ROOT, "plugin", "memory_fabric", name), package)
    write(os.path.join(package, "__init__.py"), '__version__ = "0"\n')
    write(os.path.join(package, "hooks", "__init__.py"), "")
    write(os.path.join(package, "hooks", "dispatcher.py"), REPORTER)
    return folder


def write(path: str, text: str) -> str:
    """The path, its file now holding the text."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def executable(path: str, text: str) -> str:
    """The path of a new program with this text."""
    write(path, text)
    os.chmod(path, stat.S_IRWXU)
    return path


def make_tools(folder: str) -> str:
    """A folder for PATH with the few tools the scripts call, and no Python."""
    os.makedirs(folder, exist_ok=True)
    for name in TOOLS:
        found = shutil.which(name, path="/usr/bin:/bin")
        assert found, f"{name} is needed by the launcher and missing here"
        os.symlink(found, os.path.join(folder, name))
    return folder


def shim(path: str) -> str:
    """A version manager's kind of `python3`: a script that starts the real one."""
    return executable(path, f'#!/bin/sh\nexec {shlex.quote(PYTHON)} "$@"\n')


def quick_uv(path: str) -> str:
    """A program uv that installs one-line wheels at once."""
    command = f'{shlex.quote(PYTHON)} -I -S -c {shlex.quote(QUICK_UV)} "$@"'
    return executable(path, f"#!/bin/sh\nexec {command}\n")


def old_python(path: str) -> str:
    """A Python that runs the launcher's own question and answers it as 3.9 would."""
    return _answering(path, "import sys; sys.version_info = (3, 9, 18, 'final', 0)")


def python_without_fts5(path: str) -> str:
    """A Python whose SQLite refuses full-text tables."""
    return _answering(
        path,
        "import sqlite3\n"
        "class Refusing:\n"
        "    def execute(self, statement):\n"
        "        raise sqlite3.OperationalError('no such module: fts5')\n"
        "sqlite3.connect = lambda *_: Refusing()",
    )


def _answering(path: str, before: str) -> str:
    program = f"import sys\n{before}\nexec(sys.argv[1])"
    command = f'{shlex.quote(PYTHON)} -I -S -c {shlex.quote(program)} "$4"'
    return executable(path, f"#!/bin/sh\nexec {command}\n")


def run(
    command: Sequence[str],
    environ: Mapping[str, str],
    data: bytes = b"",
    cwd: str | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """The finished process, with everything it wrote."""
    return subprocess.run(
        command, env=environ, input=data, cwd=cwd, capture_output=True, timeout=60, check=False
    )


def without_root_powers(command: Sequence[str]) -> list[str]:
    """The command, run so that file permissions bind it; a plain user's process already is."""
    if os.geteuid() != 0:
        return list(command)
    drop = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={drop}", f"--inh-caps={drop}", *command]


def read(path: str) -> str:
    """The text of a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def read_json(path: str) -> Any:
    """Return the content of the JSON file."""
    return json.loads(read(path))


def make_wheel(folder: str, version: str) -> str:
    """A one-module wheel `tinypkg` in the folder; its line for a requirements file with hash."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"tinypkg-{version}-py3-none-any.whl")
    about = f"tinypkg-{version}.dist-info"
    files = {
        "tinypkg.py": f"VERSION = {version!r}\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: tinypkg\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},{_digest(text)},{len(text)}\n" for name, text in files.items())
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
        wheel.writestr(f"{about}/RECORD", f"{record}{about}/RECORD,,\n")
    with open(path, "rb") as file:
        return f"tinypkg=={version} --hash=sha256:{hashlib.sha256(file.read()).hexdigest()}\n"


def make_source_archive(folder: str, version: str, mark: str) -> str:
    """A source archive `tinypkg` whose own build backend leaves a mark; its line with hash."""
    os.makedirs(folder, exist_ok=True)
    top = f"tinypkg-{version}"
    backend = f"open({mark!r}, 'a').write('ran')\nraise SystemExit('the backend ran')\n"
    files = {
        f"{top}/pyproject.toml": (
            '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        ),
        f"{top}/backend.py": backend,
        f"{top}/setup.py": backend,
        f"{top}/PKG-INFO": f"Metadata-Version: 2.1\nName: tinypkg\nVersion: {version}\n",
    }
    path = os.path.join(folder, f"{top}.tar.gz")
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(text.encode())
            archive.addfile(about, io.BytesIO(text.encode()))
    with open(path, "rb") as file:
        return f"tinypkg=={version} --hash=sha256:{hashlib.sha256(file.read()).hexdigest()}\n"


def _digest(text: str) -> str:
    raw = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
