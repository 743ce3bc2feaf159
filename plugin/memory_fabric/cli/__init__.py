"""The door for people: the command `memory-fabric`, one module for each group of commands."""

# Set by the script that `completion` prints, when a shell asks what may come next.
COMPLETING = "_MEMORY_FABRIC_COMPLETE"
