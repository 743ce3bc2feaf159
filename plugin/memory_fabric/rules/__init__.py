"""Rules bound to commands, paths and activities, and their effect on matching tool calls."""
