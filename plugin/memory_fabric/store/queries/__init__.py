"""Queries that read the databases: search, graph, counts."""
