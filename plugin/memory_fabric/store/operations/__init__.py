"""The kinds of operations: what each kind changes in a database, and how the change is reversed."""
