"""The local copy of a shared log: the operations of members as rows of the database."""
