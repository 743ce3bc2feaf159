"""Capture: from what was said to records, entities and relations."""
