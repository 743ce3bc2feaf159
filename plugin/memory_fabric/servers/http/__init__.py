"""The memory over HTTP, for whoever sits at this machine and has the key."""
