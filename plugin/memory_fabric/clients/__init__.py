"""Code that is specific to individual clients: their traits, hooks, settings and transcripts."""
