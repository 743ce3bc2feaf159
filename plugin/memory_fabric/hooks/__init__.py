"""The hooks: dispatcher, handlers, and the state of a session."""
