"""Turns a Variant into an Evaluation: compile, verify, time, in processes that can be killed. Failures are values."""
