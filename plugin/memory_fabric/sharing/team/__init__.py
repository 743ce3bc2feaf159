"""Use of a shared log: links of projects to spaces, and the exchange of operations."""
