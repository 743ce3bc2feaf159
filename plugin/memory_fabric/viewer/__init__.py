"""The web page on which the user browses the memory, and drawings of the graph."""
