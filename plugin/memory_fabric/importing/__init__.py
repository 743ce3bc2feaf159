"""Import memories of other programs: recognise, read, select and store them, and follow changes."""
