"""The client's hooks: the dispatcher, the event handlers, and the state of a session."""
