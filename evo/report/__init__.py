"""What a campaign leaves in its output folder."""

from evo.report.outputs import write_outputs

__all__ = ["write_outputs"]
