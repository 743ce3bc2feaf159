"""For each kind of operation: its effect on a database, and its inverse."""
