"""Reading queries on the databases: search, graph, counts."""
