"""Reading the log of operations: changes, the origin of a memory, and undo."""
