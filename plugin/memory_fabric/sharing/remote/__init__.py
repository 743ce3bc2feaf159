"""A log in the files of a git repository, which synchronises the machines of one user."""
