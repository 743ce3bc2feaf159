"""Ingest: texts from other programs, processed into memories."""
