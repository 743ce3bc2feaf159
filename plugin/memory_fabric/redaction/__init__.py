"""Redaction: remove credentials from texts before they are stored."""
