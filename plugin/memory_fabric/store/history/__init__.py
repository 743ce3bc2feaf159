"""Operations for reading: what changed, why something is known, and undoing it."""
