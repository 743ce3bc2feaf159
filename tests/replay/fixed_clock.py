"""A clock and ids that are the same in every run, in this process and in those of hooks.

The clock is a file that holds a time in seconds and the number of an event: all the time that an
event takes is one moment. Ids count: the last eight digits of the third id that is made in event 12
are e0120003. The machine has a fixed name. Processes that outlive an event are not started.

    python -I -S fixed_clock.py <clock file> <script>      runs a script so
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# The id of a process that was not started.
NOBODY = 1 << 30
MACHINE = "machine"
# The first digit of an id, by the thousands of its event's number.
THOUSANDS = "efabcd"
ODD = 2_654_435_761


class Clock:
    """The clock of a file, set to `start_s` if given; `install` makes it this process's own."""

    def __init__(self, path: str, start_s: float | None = None) -> None:
        self._path, self._event, self._drawn = path, -1, 0
        if start_s is not None:
            self._write(start_s, 0)

    def advance(self, seconds: float) -> None:
        """Begin the next event, so much later."""
        now_s, event = self._read()
        self._write(now_s + seconds, event + 1)

    def now_s(self) -> float:
        """Return the time in seconds since 1970."""
        return self._read()[0]

    def draw(self, count: int) -> bytes:
        """Return so many bytes, other ones at each call."""
        event = self._read()[1]
        self._drawn = self._drawn + 1 if event == self._event else 1
        self._event = event
        thousands, rest = divmod(event, 1000)
        if thousands < len(THOUSANDS):
            digits = f"{THOUSANDS[thousands]}{rest:03d}{self._drawn:04d}"
        else:  # as a year has: an odd factor makes ids of all digits, and no two alike
            digits = f"{(event * 10_000 + self._drawn) * ODD % 2**32:08x}"
        return bytes.fromhex(digits).rjust(count, b"\0")[-count:]

    def install(self) -> Callable[[], None]:
        """Let this process live by the clock; return what takes it back."""
        gmtime, strftime, spawn, uname = time.gmtime, time.strftime, os.posix_spawn, os.uname()
        machine = os.uname_result((uname.sysname, MACHINE, *uname[2:]))

        def not_detached(*arguments: Any, **options: Any) -> int:
            return NOBODY if options.get("setsid") else spawn(*arguments, **options)

        own: list[tuple[Any, str, Any]] = [
            (time, "time", self.now_s),
            (time, "time_ns", lambda: int(self.now_s() * 10**9)),
            (time, "gmtime", lambda at=None: gmtime(self.now_s() if at is None else at)),
            (time, "strftime", lambda form, at=None: strftime(form, at or time.gmtime())),
            (os, "uname", lambda: machine),
            (os, "urandom", self.draw),
            (os, "posix_spawn", not_detached),
        ]
        before = [(module, name, getattr(module, name)) for module, name, _ in own]
        for module, name, value in own:
            setattr(module, name, value)

        def restore() -> None:
            for module, name, value in before:
                setattr(module, name, value)

        return restore

    def _read(self) -> tuple[float, int]:
        with open(self._path, encoding="ascii") as file:
            now_s, event = file.read().split()
        return float(now_s), int(event)

    def _write(self, now_s: float, event: int) -> None:
        with open(self._path, "w", encoding="ascii") as file:
            file.write(f"{now_s} {event}")


if __name__ == "__main__":
    Clock(sys.argv[1]).install()
    script = sys.argv[2]
    with open(script, encoding="utf-8") as source:
        exec(compile(source.read(), script, "exec"), {"__name__": "__main__", "__file__": script})
