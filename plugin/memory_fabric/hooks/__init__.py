"""The hooks: dispatcher, handlers, and what they keep of a session."""
