"""Nearness of meaning for the warm path (server, command line), where the extra is installed.

Nothing here is imported by hooks. Without the extra, recall is unchanged.
"""
