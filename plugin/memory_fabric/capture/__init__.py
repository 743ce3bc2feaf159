"""Capture of records, entities and relations from text."""
