"""The graph file of MCP's reference memory server: reading, writing, importing and mirroring it."""
