"""One module a command (or a pair of commands)."""
