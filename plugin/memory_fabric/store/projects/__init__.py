"""Projects: the project of a folder, and links between projects."""
