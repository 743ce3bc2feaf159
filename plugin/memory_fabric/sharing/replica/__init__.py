"""The local replica of a team's log: operations of members as rows of the database."""
