"""The shared log of a team: ties of projects to spaces, and their exchange with a server."""
