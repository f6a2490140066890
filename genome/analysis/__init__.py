"""Pure analyses of the loop IR; ``analyse`` is the entry to what they say of a kernel, with proofs and doubts."""
