"""Recall: from a question to ranked memories, and to the memories that hooks inject."""
