"""All code for particular clients: their traits, hooks, settings and transcript formats."""
