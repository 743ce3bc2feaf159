"""The door for people: the command `memory-fabric`, one module for each group of commands."""
