"""The error of the printers."""


class PrintError(ValueError):
    """The kernel uses something that the target language does not have."""
