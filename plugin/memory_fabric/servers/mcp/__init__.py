"""The MCP server named `memory`, with its tools, protocol and transports."""
