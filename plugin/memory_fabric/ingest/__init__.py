"""Ingest: create memories from texts that other programs have sent."""
