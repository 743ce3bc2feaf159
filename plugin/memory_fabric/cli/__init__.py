"""The command line `memory-fabric`, with one module for each command."""

# Set by the script that `completion` prints when the shell asks for completions.
COMPLETING = "_MEMORY_FABRIC_COMPLETE"
