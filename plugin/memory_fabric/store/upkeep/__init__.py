"""Backups, repair and checks of what is stored."""
