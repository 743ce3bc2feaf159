"""Events through the front door as processes: recorded ones, made-up ones, and broken worlds."""
