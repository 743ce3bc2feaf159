"""The tiers beside the database: MEMORY.md, client memory files, and keeping all up to date."""
