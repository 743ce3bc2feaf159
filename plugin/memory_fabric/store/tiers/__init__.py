"""Tiers outside the database: MEMORY.md, the client's memory files, and their updates."""
