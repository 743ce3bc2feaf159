"""Runs hooks/dispatch.py as the launcher does and writes down which modules the process held.

Started as `python -I -S sys_modules.py <dispatch.py> <output>`; the event comes on stdin.
"""

import os
import sys

dispatch, output = sys.argv[1:]
leave = os._exit


def write_and_leave(status):  # type: ignore[no-untyped-def]
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(sorted(sys.modules)))
    leave(status)


os._exit = write_and_leave
with open(dispatch, encoding="utf-8") as source:
    exec(compile(source.read(), dispatch, "exec"), {"__name__": "__main__", "__file__": dispatch})
