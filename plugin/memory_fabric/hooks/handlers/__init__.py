"""Handlers of the hook events, one module each."""
