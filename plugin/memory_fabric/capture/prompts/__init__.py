"""Statements and cues in what a person typed."""
