"""hooks/, bin/ and the background installation, run as real processes."""
