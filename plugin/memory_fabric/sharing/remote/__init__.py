"""A log in files of a git repository, through which one user's machines are synchronised."""
