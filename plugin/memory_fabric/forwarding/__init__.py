"""Forwarding: send sessions to another machine."""
