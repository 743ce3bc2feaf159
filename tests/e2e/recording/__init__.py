"""A recording of the real client in a terminal, as an animated picture."""
