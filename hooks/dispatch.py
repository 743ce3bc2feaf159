"""The hooks' entry point: import the package and run the dispatcher. Parses on Python 3.9."""

import os
import sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
data = os.environ.get("CLAUDE_PLUGIN_DATA", "")
try:
    if data and not os.access(os.path.join(root, "plugin", "memory_fabric"), os.W_OK):
        sys.pycache_prefix = os.path.join(data, "pycache")
    sys.path.append(os.path.join(root, "plugin"))
    from memory_fabric import compiled_modules

    compiled_modules.use(os.path.join(root, "plugin"), compiled_modules.EVERY_EVENT)
    from memory_fabric.dispatcher import main

    main()
except BaseException as error:  # noqa: BLE001 - whatever is broken, the session must continue
    import time

    what = " ".join(f"{type(error).__name__}: {error}".split())[:500]
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = f"{now} hook: {what}\n".encode("utf-8", "replace")
    try:
        path = os.path.join(data or os.devnull, "memory-fabric.log")
        os.write(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), line)
    except OSError:
        os.write(2, line)
finally:
    os._exit(0)
