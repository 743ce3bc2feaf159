"""The hooks: the dispatcher, the handlers of events, and the state of a session."""
