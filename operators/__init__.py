"""Agents: they propose genomes from parents, evidence and memory. They know nothing of devices or databases."""
