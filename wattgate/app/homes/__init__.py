"""Set up homes: the records that a home needs, for the command line and the demonstration."""
