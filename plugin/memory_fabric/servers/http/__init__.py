"""The HTTP server, for users of this machine and programs with a key."""
