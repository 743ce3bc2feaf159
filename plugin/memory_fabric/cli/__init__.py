"""The command line `memory-fabric`, with one module per subject of commands."""

# Environment variable set by the script that `completion` prints, when the shell asks to complete.
COMPLETING = "_MEMORY_FABRIC_COMPLETE"
