"""One module a revision, in order. A revision never changes once it was released."""
