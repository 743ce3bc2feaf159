"""Recall: from a question to ranked memories, and selection of the memories that hooks inject."""
