"""Reads of the databases: search, graph, counts."""
