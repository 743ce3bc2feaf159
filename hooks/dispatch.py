"""The hooks' entry point: the session's server answers, or this process. Parses on Python 3.9."""

import sys

root = __file__.replace("\\", "/").rpartition("/hooks/")[0]
data = ""
try:
    if sys.platform == "linux":
        from posix import access, environ  # `os` takes longer, and a server does without

        data = environ.get(b"CLAUDE_PLUGIN_DATA", b"").decode("utf-8", "surrogateescape")
    else:
        from os import access, environ

        data = environ.get("CLAUDE_PLUGIN_DATA", "")
    if data and not access(root + "/plugin/memory_fabric", 2):
        sys.pycache_prefix = data + "/pycache"
    sys.path.append(root + "/plugin")
    left = None
    if sys.platform == "linux":
        from memory_fabric.live_client import answer

        left = answer(root)
    from memory_fabric.hooks.dispatcher import main

    main(left)
except BaseException as error:  # noqa: BLE001 - whatever is broken, the session must continue
    import os
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
