"""Storage besides the databases (MEMORY.md and the client's memory files), and its updates."""
