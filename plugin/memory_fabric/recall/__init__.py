"""Recall: from a question to ranked memories, and to what hooks inject."""
