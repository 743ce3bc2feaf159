"""Import of other programs' memories: recognise, read, select and store them; follow changes."""
