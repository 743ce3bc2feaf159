"""What people say when something is worth keeping, language by language."""
