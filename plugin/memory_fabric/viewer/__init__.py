"""A page to look at one's memory: what it shows, and drawings of the graph as text."""
