"""Events run by real hook processes: recorded and generated ones, and in broken environments."""
