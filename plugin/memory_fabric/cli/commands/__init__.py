"""The commands, one module per subject; `cli.registry` is their table."""
