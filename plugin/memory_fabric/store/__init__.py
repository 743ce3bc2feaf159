"""Storage: databases, journals, MEMORY.md and spools; the only package that writes to disk."""
