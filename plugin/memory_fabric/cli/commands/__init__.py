"""One module for the commands of a subject; `cli.registry` lists them."""
