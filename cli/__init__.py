"""The command line: parses options, calls ``evo``, prints."""
