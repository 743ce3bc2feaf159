"""The command line `memory-fabric`, with a module for the commands of each subject."""

# Set by the script that `completion` prints when the shell asks for completions.
COMPLETING = "_MEMORY_FABRIC_COMPLETE"
