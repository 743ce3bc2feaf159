"""Projects: which one a folder belongs to, links between projects."""
