"""Domains: callers of the tools, counts, and memories that show only some domains."""
