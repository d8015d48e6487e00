"""The command line: one file per command, imported when called."""
