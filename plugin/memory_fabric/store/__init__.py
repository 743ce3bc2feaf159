"""Storage: databases, journals, MEMORY.md and spools. No other package writes to disk."""
