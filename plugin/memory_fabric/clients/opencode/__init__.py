"""OpenCode: the plugin that hands its events to the launcher."""
