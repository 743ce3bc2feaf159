"""The shared server: recall, MCP, ingest and the page from PostgreSQL itself (serve --team)."""
