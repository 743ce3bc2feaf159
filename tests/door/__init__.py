"""The front door and the background installation, as real processes."""
