"""The commands, in one module per subject; `cli.registry` lists all of them."""
