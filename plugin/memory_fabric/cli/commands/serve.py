"""Commands serve and viz: serve the memory of a folder or team over HTTP, or show it as a page."""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from memory_fabric import ids
from memory_fabric.cli import environment, show
from memory_fabric.cli.options import argument, exclusive, flag, option, repeated
from memory_fabric.errors import BadInput, FabricError, NotFound, StoreUnavailable
from memory_fabric.setup import extras
from memory_fabric.sharing.team import driver
from memory_fabric.store.forget import saved_pages

MAKE_TEAM_KEY = "serve --team DSN --new-key NAME --member MEMBER"
# The extra that `serve` needs, the packages to check for it, and its size in megabytes.
KIND, NEEDED, SIZE_MB = "serve", ("mcp", "orjson", "starlette", "uvicorn"), 34
PAGE, MERMAID, JSON = "page", "mermaid", "json"


def serve(
    name: str = argument("[NAME]  With --new-key: the name of the key.", ""),
    port: int = option("The port; 0 chooses a free one.", 8002, min=0, max=65535),
    host: str = option("ADDRESS  One that other machines can reach needs a key.", "127.0.0.1"),
    allow_host: list[str] | None = repeated("NAME  Also answer to this name in the Host header."),
    opens: bool = flag("--open  Open the page in the browser."),
    new_key: bool = flag("--new-key  Create a permanent key, print it once, and exit."),
    list_keys: bool = flag("--list-keys  List the permanent keys, and exit."),
    drop_key: str = option("NAME  Delete this key, and exit."),
    team: str = option("DSN  Serve a team's log: postgresql://ROLE@HOST/DATABASE, no password."),
    read: str = option("DSN  With --team: a replica (hot standby) that answers what it can."),
    space: str = option("NAME  With --team: the space; by default the only one of the login."),
    workers: int = option("N  Processes that answer; by default at most 4, with --team 1.", 0),
    member: str = option("MEMBER  With --team and --new-key: the member that the key acts for."),
    domain: str = option("NAME  With --team and --new-key: the only domain of the key."),
    insecure: bool = flag("--insecure  With --team: connect to another host without encryption."),
) -> int:
    """Serve the page, ingest, recall and MCP over HTTP until Ctrl-C.

    The page shows the current memory, and searches it like `recall`. Programs can send texts
    (ingest: `POST /v1/memory/ingest`) and query memory at `/mcp` (docs/http.md). Reading needs a
    key: a permanent one, or the one in the printed address, which changes with each start. While no
    permanent key exists, ingest needs no key, and only this machine can reach the server.

    With `--team`, serve a team's shared log (a space in PostgreSQL) for clients without a local
    memory. Each key acts for a member, whose rights the database checks.

        memory-fabric serve --open
        memory-fabric serve --team postgresql://fabric@db.example.org/team
    """
    text = "--new-key, --list-keys and --drop-key exclude each other."
    exclusive("keys", text, new_key, list_keys, drop_key, remedy="")
    if name and not new_key:
        raise BadInput("NAME", "A name needs --new-key.", remedy="Use serve --new-key NAME.")
    settings, is_about_keys = environment.settings(), new_key or list_keys or drop_key
    place: dict[str, Any] = {"host": host, "port": port, "allowed": allow_host or ()}
    if team:
        _load_packages(settings.data_dir, settings.plugin_root)
        from memory_fabric.cli.commands import sync  # imported late: not needed for --help

        sync.prepare(settings, driver.TEAM)
        from memory_fabric.servers.http import team_keys
        from memory_fabric.servers.http.server import TeamServer
        from memory_fabric.sharing.server.connect import checked, connect

        if new_key and not member:
            text = "A key of a shared server acts for a member."
            raise BadInput("--member", text, remedy=f"Name the member: {MAKE_TEAM_KEY}.")
        if read:
            checked(read, insecure=insecure)
        space = team_keys.space_of(team, space, insecure=insecure)
        if is_about_keys:
            with closing(connect(team, insecure=insecure)) as c:
                make = partial(team_keys.make, c, space, member, name, domain)
                drop, kept = partial(team_keys.drop, c, space), team_keys.kept(c, space)
                parts = ((k.name, k.member, f"{k.created_at:%Y-%m-%d}", k.domain) for k in kept)
                rows = (f"{n}  {of}  {at}  {d and f'domain {d}'}" for n, of, at, d in parts)
                keys = [row.rstrip() for row in rows]
                return _about_keys(make if new_key else None, drop, drop_key, keys, MAKE_TEAM_KEY)
        n = workers or 1
        server: Any = TeamServer(settings, team, space, read, insecure=insecure, workers=n, **place)
        show.line(f"The memory of the space {space}: {server.address}")
        show.line(f"Requests need a key: {MAKE_TEAM_KEY} makes one.")
        return _run(server)
    if read or space or member or domain or insecure:
        text = "--read, --space, --member, --domain and --insecure need --team."
        raise BadInput("--team", text, remedy="Use serve --team DSN.")
    if is_about_keys:
        from memory_fabric.servers.http import keys as stored  # only for keys

        make, drop = partial(stored.make, settings.home, name), partial(stored.drop, settings.home)
        keys = [f"{key.name}  {key.created_at}" for key in stored.kept(settings.home)]
        how = "memory-fabric serve --new-key NAME"
        return _about_keys(make if new_key else None, drop, drop_key, keys, how)
    _load_packages(settings.data_dir, settings.plugin_root)
    from memory_fabric.servers.http.server import Server  # imported late: not needed for --help

    server = Server(settings, workers=workers, **place)
    show.line(f"The memory of {os.getcwd()}: {server.address}")
    if opens and show.can_open_page():
        # Some browsers make this call wait until they are closed, so it runs in a thread.
        Thread(target=show.open_page, args=(server.address_for_once(),), daemon=True).start()
    elif opens:
        show.warn("no browser is available here; open the address above in one.")
    return _run(server)


def _load_packages(data_dir: str, plugin_root: str) -> None:
    folder = extras.folder_of(KIND, data_dir, plugin_root)
    extras.reach(folder)
    if not extras.missing(NEEDED):
        return
    if not folder:
        raise FabricError("The packages of serve are missing.", remedy="Run pip install .")
    show.warn(f"installing the packages of serve once ({SIZE_MB} MB, in {folder}) for a minute ...")
    began_s = time.monotonic()
    extras.install(folder, extras.lock_file(KIND, plugin_root))
    extras.reach(folder)
    show.warn(f"the installation took {time.monotonic() - began_s:.0f} s.")


def _run(server: Any) -> int:
    show.line("Press Ctrl-C to stop.", style="dim")
    sys.stdout.flush()
    if not server.is_local:
        show.warn(
            "other machines can reach this address, and everything is sent unencrypted, "
            "including keys: put TLS in front of it (docs/http.md)."
        )
    os.environ["PYTHONSAFEPATH"] = "1"  # workers must not import from this folder
    server.run()
    return 0


def _about_keys(
    make: Callable[[], str] | None,
    drop: Callable[[str], object],
    dropped: str,
    keys: Sequence[str],
    how: str,
) -> int:
    """Create a key with `make`, delete the key `dropped`, or list `keys` (if none, say `how`)."""
    if make:
        show.line(make())
        show.warn("this key is shown only once; only its hash is stored.")
    elif dropped:
        drop(dropped)
        show.line(f"The key {dropped} is not valid any more.")
    else:
        show.lines(keys or [f"There is no permanent key. {how} creates one."])
    return 0


def viz(
    name: str | None = argument("NAME  The entity to start with, in any spelling.", None),
    out: str = option("FILE  Write to this file; `-` is standard output."),
    force: bool = flag("--force  Replace an existing file."),
    no_open: bool = flag("--no-open  Only print the path; do not open a browser."),
    as_mermaid: bool = flag("--mermaid  Write a Mermaid flowchart: 60 entities, or around NAME."),
    depth: int = option("N  With NAME and --mermaid: 1 to 3 steps around it (1).", 0, min=0, max=3),
    as_json: bool = flag("--json  Print the data of the page as JSON."),
) -> int:
    """Show the memory as a page in the browser, or its graph as text.

    The page is one file in the home's `pages/`; it needs no network, and only you can read it. It
    does not change with the memory, unlike the page of `memory-fabric serve`. Without a terminal or
    display, the path is printed. Exit code 3 if nothing is remembered, or if no entity has the
    name; similar names are then shown.

        memory-fabric viz cursor-pagination --mermaid --depth 2
    """
    exclusive("--json", "--mermaid and --json exclude each other.", as_mermaid, as_json)
    form = MERMAID if as_mermaid else JSON if as_json else PAGE
    if depth and not (name and as_mermaid):
        text = "--depth needs an entity and a drawing."
        raise BadInput("--depth", text, remedy="Add a NAME and --mermaid.")
    from memory_fabric.viewer.page import mermaid, number_of, page
    from memory_fabric.viewer.picture import graph, picture  # imported late: not needed for --help

    with environment.open_memory() as memory:
        draw = graph if form == MERMAID else picture
        drawn = draw(memory, ids.timestamp(), name or "")
        kept_at = saved_pages.path_of(memory.settings.home, memory.project)
        if not (drawn["entities"] or drawn["records"] or drawn["left_out"]["records"]):
            if memory.failures:
                raise StoreUnavailable("", f"Nothing can be shown: {'; '.join(memory.failures)}")
            remedy = "Add memories with memory-fabric remember or memory-fabric import."
            raise NotFound("memory", "Nothing is remembered here yet.", remedy=remedy)
        show.warn_all(memory.failures)
    focus = None if name is None else number_of(drawn, name)
    if form == MERMAID:
        content = mermaid(drawn, focus=focus, depth=depth or 1)
    else:
        drawn |= {} if focus is None else {"focus": drawn["entities"][focus]["name"]}
        data = json.dumps(drawn, indent=2, ensure_ascii=False) + "\n" if form == JSON else ""
        content = data or page(drawn)
    if out == show.STREAM or (form != PAGE and not out):
        sys.stdout.buffer.write(content.encode("utf-8", "replace"))
        return 0
    if out:
        show.write_file(out, content.encode("utf-8", "replace"), force)
    else:
        saved_pages.save(kept_at, content)
    path = os.path.abspath(out or kept_at)
    opens = form == PAGE and not no_open
    if opens and show.can_open_page() and show.open_page(Path(path).as_uri()):
        show.line(f"Opened in the browser: {path}")
    else:
        show.line(f"Open it in a browser: {path}" if opens else path)
    return 0
