"""The configuration file of a repository: finding, reading and checking it."""
