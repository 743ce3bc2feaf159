"""Capture of memories from text: records, entities and relations."""
