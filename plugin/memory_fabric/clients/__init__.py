"""Everything that is specific to single clients: traits, hooks, settings, transcript formats."""
