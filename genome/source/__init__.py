"""CUDA C front end: preprocess, slice, instantiate, encode, parse, normalise. The only home of pcpp and pycparser."""
