"""Kinds of operations: what each one changes in a database, and how it is reversed."""
