"""The local copy of a shared log: the members' operations as rows of the database."""
