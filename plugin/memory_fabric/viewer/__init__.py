"""The web page on which the user can browse the memory, and drawings of the graph."""
