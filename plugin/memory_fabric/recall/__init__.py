"""Recall: ranking of memories for a question, and selection of the memories that hooks inject."""
