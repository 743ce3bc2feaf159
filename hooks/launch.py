"""Start hooks and commands without a shell, as on Windows; `setup` there enters it. Parses on 3.9.

python -I -S hooks/launch.py [--client KEY] [rules | fixes]     as hooks/launch
python -I -S hooks/launch.py --run [COMMAND ...]                as bin/memory-fabric
"""

import os
import sys

NAME = "memory-fabric"
OFF_WORDS = ("off", "0", "false", "no")
ENTRIES = {"hook": "dispatch.py", "mcp": "mcp.py", "statusline": "statusline.py"}


def main(arguments, environ):
    """Run the hook, or the command after --run, in this process; never returns to a hook."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if arguments[:1] == ["--run"]:
        return run_command(root, arguments[1:], environ)
    if arguments[:1] == ["--client"]:
        environ["MEMORY_FABRIC_CLIENT"] = arguments[1]
        if not any(name.endswith("_PROJECT_DIR") for name in environ):
            environ["CLAUDE_PROJECT_DIR"] = os.getcwd()
        arguments = arguments[2:]
    if arguments and not may_act(arguments[0], environ):
        return 0
    announce(root, environ, os.path.join(memory_folder(environ), "runtime"))
    return run_file(os.path.join(root, "hooks", ENTRIES["hook"]))


def may_act(kind, environ, paths=os.path):
    """Return False if memory certainly has no records of this kind for the session's folder.

    It reads the files that memory_fabric/store/home/launch_marks.py keeps. `paths` is `os.path`.
    """
    if environ.get("MEMORY_FABRIC", "").lower() in OFF_WORDS:
        return False
    memory, place = memory_folder(environ), environ.get("CLAUDE_PROJECT_DIR", "")
    below = place_below(place, paths)
    if below is None or not paths.isabs(memory):
        return True  # the package resolves every other form of a path
    if not os.path.isdir(memory):
        return False
    if os.path.exists(os.path.join(memory, "has-" + kind)):
        return True
    try:
        with open(f"{memory}/launch/places{below}/@project", encoding="utf-8") as file:
            project = file.readline().strip()
    except (OSError, ValueError):
        return True
    return not project or os.path.exists(os.path.join(memory, "projects", project, "has-" + kind))


def place_below(folder, paths=os.path):
    """Return the part of a mark's path that stands for a folder; None unless it is a whole path."""
    drive, rest = paths.splitdrive(folder)
    rest = rest.replace(paths.sep, "/")
    names = rest.strip("/").split("/") if rest.strip("/") else []
    if len(drive) > 2 or not rest.startswith("/") or any(name in ("", ".", "..") for name in names):
        return None
    return ("/" + drive[0] if drive else "") + rest.rstrip("/")


def memory_folder(environ):
    """Return memory's folder, with `~` resolved."""
    stated = environ.get("MEMORY_FABRIC_HOME") or os.path.join(config_folder(environ), NAME)
    return resolved(stated, environ)


def config_folder(environ):
    """Return the client's folder, with `~` resolved."""
    return resolved(environ.get("CLAUDE_CONFIG_DIR") or os.path.join("~", ".claude"), environ)


def resolved(path, environ):
    """Return a path whose `~` is the user's home."""
    if path == "~" or path[:2] in ("~/", "~\\"):
        return (environ.get("HOME") or os.path.expanduser("~")) + path[1:]
    return path


def announce(root, environ, fallback):
    """Set the variables of this plugin unless they are set; another plugin's do not count."""
    stated = environ.get("CLAUDE_PLUGIN_ROOT", "")
    is_own = not stated or os.path.realpath(stated) == os.path.realpath(root)
    data = environ.get("CLAUDE_PLUGIN_DATA", "") if is_own else ""
    environ["CLAUDE_PLUGIN_ROOT"], environ["CLAUDE_PLUGIN_DATA"] = root, data or fallback


def run_command(root, arguments, environ):
    """Run a command of the command line, or the server; return its exit code."""
    if sys.version_info < (3, 11):  # noqa: UP036 - any Python may be the one of the shell
        sys.stderr.write(f"{NAME}: it needs Python 3.11 or newer, not {sys.version.split()[0]}.\n")
        return 1
    announce(root, environ, installed_data(environ))
    if len(arguments) == 1 and arguments[0] in ENTRIES:
        return run_file(os.path.join(root, "hooks", ENTRIES[arguments[0]]))
    sys.argv[1:] = ["--run", *arguments]
    return run_file(os.path.join(root, "plugin", "memory_fabric", "setup", "packages.py"))


def installed_data(environ):
    """Return the data folder of the installed plugin, else the one in memory's folder."""
    data = os.path.join(config_folder(environ), "plugins", "data")
    names = sorted(os.listdir(data)) if os.path.isdir(data) else []
    found = [name for name in names if name.startswith(NAME + "-")]
    if found:
        return os.path.join(data, found[0])
    return os.path.join(memory_folder(environ), "runtime")


def run_file(path):
    """Run a script in this process, with streams that change no bytes."""
    if os.name == "nt":
        import msvcrt

        for handle in (0, 1):
            vars(msvcrt)["setmode"](handle, vars(os)["O_BINARY"])
    sys.argv[0] = path
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    exec(code, {"__name__": "__main__", "__file__": path})
    return 0


if __name__ == "__main__":
    is_hook = sys.argv[1:2] != ["--run"]
    try:
        status = main(sys.argv[1:], os.environ)
    except Exception as error:
        if not is_hook:
            raise
        sys.stderr.write(f"{NAME}: {error}\n")
        status = 0  # whatever is broken, the session must continue
    sys.exit(status)
