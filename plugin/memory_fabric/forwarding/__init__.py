"""Forward sessions to another machine, called the receiver."""
