"""Forgetting and purging."""
