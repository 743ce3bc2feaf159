"""The HTTP server, for the users of this machine and for programs that have an API key."""
