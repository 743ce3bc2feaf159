"""The web page on which the user can browse memory, and drawings of the graph."""
