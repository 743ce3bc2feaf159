"""The effect of each kind of operation on a database, and its inverse."""
