"""The local replica of a team's log: members' operations as rows of the database."""
