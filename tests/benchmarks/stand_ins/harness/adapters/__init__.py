"""The adapters' part of the interface."""
