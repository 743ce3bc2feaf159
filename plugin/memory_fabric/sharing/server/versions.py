"""The version of the schema: the steps applied to a database, and those that this release has."""

from importlib import resources
from importlib.resources.abc import Traversable

from memory_fabric.sharing.server.connect import Connection
from memory_fabric.sharing.team.errors import NoSchema, SchemaNewer, SchemaOlder


def steps() -> dict[int, Traversable]:
    """Map the number of each step of the schema to its SQL file, oldest first."""
    folder = resources.files("memory_fabric.sharing.server") / "schema"
    files = {int(f.name[:3]): f for f in folder.iterdir() if f.name.endswith(".sql")}
    return dict(sorted(files.items()))


def applied(connection: Connection) -> set[int]:
    """Return the numbers of the steps applied to the database; none if it has no schema."""
    row = connection.execute("SELECT to_regclass('memory_fabric.schema_version')").fetchone()
    if row is None or row[0] is None:
        return set()
    rows = connection.execute("SELECT version FROM memory_fabric.schema_version").fetchall()
    return {row[0] for row in rows}


def expect(connection: Connection) -> None:
    """Raise NoSchema, SchemaOlder or SchemaNewer if the schema does not match this release."""
    steps_there = applied(connection)
    if not steps_there:
        text = f"The database {connection.info.dbname} holds no shared log."
        remedy = "Run `memory-fabric team init` with a role that may create a schema."
        raise NoSchema(text, remedy=remedy)
    missing = steps().keys() - steps_there
    if missing:
        text = f"The schema of the shared log lacks step {min(missing)} of this release."
        raise SchemaOlder(text, remedy="Ask its owner to run `memory-fabric team init`.")
    expect_known(steps_there)


def expect_known(there: set[int]) -> None:
    """Raise SchemaNewer if this release does not know one of the applied steps."""
    unknown = there - steps().keys()
    if unknown:
        text = f"The shared log has schema {max(unknown)}; this release knows {max(steps())}."
        raise SchemaNewer(text, remedy="Update memory-fabric on this machine.")
