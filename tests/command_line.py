"""The command line in this process: arguments in, exit code and output out.

Starting Python and its packages costs more than most commands do, so tests call `main` itself,
with the environment, the folder and the streams of a shell of their own. Tests about the process
(signals, terminals, closed streams, several at once) start a real one.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_fabric.cli.main import main
from memory_fabric.hooks import dispatcher

ROOT = Path(__file__).parents[1]
GIVE_UP_S = 120
# They end the process themselves, or read its own streams by number.
ENDING = ("mcp", "serve")
COMPLETING = "_MEMORY_FABRIC_COMPLETE"
# As `memory_fabric.semantic` has it in a process of its own. Here that package may be imported with
# another environment than the one in which numpy reads this: its threads would burn processor.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


def run_here(
    words: Sequence[str], environ: Mapping[str, str], folder: Path, stdin: str = ""
) -> Done:
    """Run `memory-fabric` with these words in this process, as if in a shell in `folder`."""
    alone = threading.current_thread() is threading.main_thread()  # threads share an environment
    if not alone or COMPLETING in environ or (words and words[0] in ENDING):
        return run_process(words, environ, folder, stdin)
    if tuple(words) == ("hook",):  # the process would end itself; all before that is the same
        with shell(environ, folder, *(io.TextIOWrapper(io.BytesIO()) for _ in range(3))):
            reply = dispatcher.run(stdin.encode("utf-8", "surrogateescape"), os.environ)
        return Done(0, reply.decode(), "")
    given = io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogateescape")), "utf-8")
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with shell(environ, folder, given, out, err), warnings.catch_warnings():
        try:
            status = main(list(words))
        except SystemExit as leaving:  # as the process would end
            status = leaving.code if isinstance(leaving.code, int) else 1
    return Done(status, written(out), written(err))


def run_process(
    words: Sequence[str], environ: Mapping[str, str], folder: Path, stdin: str = ""
) -> Done:
    """Run `memory-fabric` with these words as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "memory_fabric.cli", *words],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "plugin"), **environ},
        cwd=folder,
        timeout=GIVE_UP_S,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@contextmanager
def shell(
    environ: Mapping[str, str],
    folder: Path,
    stdin: io.TextIOWrapper,
    stdout: io.TextIOWrapper,
    stderr: io.TextIOWrapper,
) -> Iterator[None]:
    before, here = dict(os.environ), os.getcwd()
    streams = sys.stdin, sys.stdout, sys.stderr
    os.chdir(folder)
    try:
        os.environ.clear()
        os.environ.update(ONE_THREAD | dict(environ))
        sys.stdin, sys.stdout, sys.stderr = stdin, stdout, stderr
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = streams
        os.environ.clear()
        os.environ.update(before)
        os.chdir(here)


def written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode("utf-8", "replace")
