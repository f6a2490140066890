"""The thin loop IR that transforms work on: immutable expressions, statements and kernels, and their printers."""
