"""Modules with the commands, one per subject; `cli.registry` lists the commands."""
