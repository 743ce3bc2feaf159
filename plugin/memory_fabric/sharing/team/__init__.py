"""The shared log of a team: links of projects to spaces, and the exchange with the server."""
