"""Operations of a team on this machine: what waits to be sent, and what others sent."""
