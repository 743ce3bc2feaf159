"""The HTTP server, for users of this machine and for programs with an API key."""
