"""The page on which people look at their memory, and drawings of the graph."""
