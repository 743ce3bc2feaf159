"""Backups, repairs and checks of databases, files and folders."""
