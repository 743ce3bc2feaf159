"""Forwarding of sessions to another machine, the receiver."""
