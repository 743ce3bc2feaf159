"""Ingest: makes memories from texts that other programs have sent."""
