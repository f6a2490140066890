"""What the engine understands of a kernel, put into words: the record behind ``evo-tune inspect``."""
