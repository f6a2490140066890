"""Source transforms, one a file. ``builtin.py`` lists them in an explicit tuple."""
