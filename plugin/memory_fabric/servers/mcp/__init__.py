"""The MCP server `memory`, with its tools, protocol and transports."""
