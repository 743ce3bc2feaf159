"""Rules bound to commands, paths and activities, and what they do before such a tool call."""
