"""The tiers beside the database: MEMORY.md, and bringing all in step."""
