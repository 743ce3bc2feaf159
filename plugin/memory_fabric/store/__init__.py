"""What the house keeps: databases, journals, native notes; nobody else touches a disk."""
