"""The status line's entry point: import the package and print one line. Parses on Python 3.9."""

import os
import sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
data = os.environ.get("CLAUDE_PLUGIN_DATA", "")
try:
    if data and not os.access(os.path.join(root, "plugin", "memory_fabric"), os.W_OK):
        sys.pycache_prefix = os.path.join(data, "pycache")
    sys.path.append(os.path.join(root, "plugin"))
    from memory_fabric.hooks.session.status_line import main

    main()
except BaseException:  # noqa: BLE001 - an empty line rather than an error on the client's screen
    os.write(1, b"\n")
finally:
    os._exit(0)
