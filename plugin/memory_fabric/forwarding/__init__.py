"""Forwarding: sessions are sent to another machine, the receiver."""
