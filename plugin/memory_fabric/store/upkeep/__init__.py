"""Backups, repair and checks of databases, files and folders."""
