"""Redaction: remove credentials from texts before these are stored."""
