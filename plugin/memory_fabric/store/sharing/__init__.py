"""Sharing by git: whether this user shares, where records lie for that, and what others wrote."""
