"""Our hooks and our server in files of the client's, and the link to the command: in and out."""
