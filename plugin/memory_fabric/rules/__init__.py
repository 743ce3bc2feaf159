"""Rules bound to commands, paths and activities, and their effects before such tool calls."""
