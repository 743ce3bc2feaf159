"""A plugin folder and a package index on loopback, in which the real installer runs."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from launchers.support import (
    PYTHON,
    executable,
    make_root,
    make_wheel,
    quick_uv,
    read,
    run,
    write,
)
from waiting import until


class Index:
    """A package index on loopback that can be told to keep its callers waiting."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.open = threading.Event()
        self.open.set()
        index = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.asked.append(self.path)
                index.open.wait()
                try:
                    self._give(index.body(self.path))
                except ConnectionError:
                    return  # the caller was killed, as the test meant it

            def _give(self, body: bytes | None) -> None:
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, format: str, *args: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_port}/simple"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def body(self, path: str) -> bytes | None:
        """The page or the wheel at this path."""
        if path == "/simple/tinypkg/":
            names = sorted(os.listdir(self.folder))
            return "".join(f'<a href="/wheels/{n}">{n}</a>' for n in names).encode()
        wheel = os.path.join(self.folder, os.path.basename(path))
        if not path.startswith("/wheels/") or not os.path.exists(wheel):
            return None
        return Path(wheel).read_bytes()


class Site:
    """A plugin root with its runtime folder, an index, and the installer's three questions.

    Packages come by a quick uv; tests about what pip does take it away (`use_pip`).
    """

    def __init__(self, base: str, index: Index) -> None:
        self.index = index
        self.home = os.path.join(base, "home of ann")
        os.makedirs(self.home)
        self.data = os.path.join(base, "plugin data")
        self.root = make_root(os.path.join(base, "plugin root"))
        self.script = os.path.join(self.root, "plugin", "memory_fabric", "setup", "packages.py")
        self.python = PYTHON
        self.environ = {
            "PATH": f"{os.path.join(base, 'quick')}:/usr/bin:/bin",
            "HOME": self.home,
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": index.url,
            "PIP_NO_CACHE_DIR": "1",
        }
        quick_uv(os.path.join(base, "quick", "uv"))
        self.require("1.0")

    def use_pip(self) -> None:
        """Let there be no uv."""
        self.environ["PATH"] = "/usr/bin:/bin"

    def require(self, version: str) -> None:
        """The release needs this version of tinypkg."""
        lock = os.path.join(self.root, "plugin", "requirements.lock")
        write(lock, make_wheel(self.index.folder, version))

    def command(self, expression: str) -> list[str]:
        """A bare process that prints the JSON of an expression about `i`, the installation."""
        program = (
            "import json, sys; sys.path.append(sys.argv[1]); data, root = sys.argv[2:4]\n"
            f"import memory_fabric.setup.packages as i; print(json.dumps({expression}))"
        )
        source = os.path.join(self.root, "plugin")
        return [self.python, "-I", "-S", "-c", program, source, self.data, self.root]

    def ask(self, expression: str, **more: str) -> Any:
        """The value of the expression in a bare process."""
        result = run(self.command(expression), {**self.environ, **more})
        assert result.returncode == 0, result.stderr.decode()
        return json.loads(result.stdout)

    def start(self, **more: str) -> bool:
        return bool(self.ask("i.start(data, root)", **more))

    def installed(self) -> str | None:
        found: str | None = self.ask("i.environment_python(data, root)")
        return found

    def finished(self) -> None:
        """Returns when nobody holds the lock any more."""
        until(self.idle, "the installer ended")

    def idle(self) -> bool:
        path = os.path.join(self.data, "install.lock")
        if not os.path.exists(path):
            return True
        with open(path, "rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

    def environments(self) -> list[str]:
        return [name for name in os.listdir(self.data) if name.startswith("env-")]

    def installer(self) -> int:
        """The process id that the running installer has written into its lock."""
        lock = os.path.join(self.data, "install.lock")
        until(lambda: os.path.exists(lock) and read(lock).endswith("\n"), "the installer runs")
        return int(read(lock))


def version_in(python: str) -> str:
    """The version of tinypkg that this interpreter imports."""
    result = run([python, "-I", "-c", "import tinypkg; print(tinypkg.VERSION)"], {})
    return result.stdout.decode().strip()


def pretended_uv(site: Site) -> str:
    """A folder with a program uv that does by pip what uv does, with the options it was given."""
    folder = os.path.join(site.home, "tools")
    executable(
        os.path.join(folder, "uv"),
        f"""#!/bin/sh
[ "$1 $2 $3" = "pip install --python" ] || exit 2
py=$4 && shift 4 && exec {shlex.quote(PYTHON)} -I -m pip --python "$py" install "$@"
""",
    )
    return folder


def read_log(site: Site) -> list[str]:
    return read(os.path.join(site.data, "install.log")).splitlines()
