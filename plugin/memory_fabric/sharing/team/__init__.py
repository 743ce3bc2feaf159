"""Use of shared logs: links of projects to spaces, and the exchange of operations."""
