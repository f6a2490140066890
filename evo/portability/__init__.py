"""Portability studies: what each device's champion costs on the others, which genes travel, what to ship to all."""
