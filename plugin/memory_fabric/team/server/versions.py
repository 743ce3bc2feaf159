"""The version of the schema: that of the database, and those that this release can make."""

from __future__ import annotations

from importlib import resources

from memory_fabric.team.errors import NoSchema, SchemaNewer, SchemaOlder
from memory_fabric.team.server.connect import Connection


def steps() -> list[bytes]:
    """Return the SQL of each version of the schema, oldest first."""
    folder = resources.files("memory_fabric.team.server") / "schema"
    files = sorted(
        (file for file in folder.iterdir() if file.name.endswith(".sql")), key=lambda f: f.name
    )
    return [file.read_bytes() for file in files]


def found(connection: Connection) -> int:
    """Return the version of the database's schema, 0 if it has none."""
    row = connection.execute("SELECT to_regclass('memory_fabric.schema_version')").fetchone()
    if row is None or row[0] is None:
        return 0
    row = connection.execute("SELECT max(version) FROM memory_fabric.schema_version").fetchone()
    return int(row[0] or 0) if row else 0


def expect(connection: Connection) -> None:
    """Raise NoSchema, SchemaOlder or SchemaNewer unless the schema is this release's."""
    version, needed = found(connection), len(steps())
    if version == 0:
        raise NoSchema(
            f"The database {connection.info.dbname} holds no shared log.",
            remedy="Run `memory-fabric team init` with a role that may create a schema.",
        )
    if version < needed:
        raise SchemaOlder(
            f"The shared log has schema {version}; this release needs {needed}.",
            remedy="Ask its owner to run `memory-fabric team init`.",
        )
    expect_not_newer(version)


def expect_not_newer(version: int) -> None:
    """Raise SchemaNewer for a version that this release does not know."""
    if version > len(steps()):
        raise SchemaNewer(
            f"The shared log has schema {version}; this release knows {len(steps())}.",
            remedy="Update memory-fabric on this machine.",
        )
