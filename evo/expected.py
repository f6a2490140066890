"""Errors that are no fault of the program: bad input, or surroundings that the user has to mend."""

from __future__ import annotations


def expected_errors() -> tuple[type[Exception], ...]:
    """Their types; the text of each says how to mend it. They are imported once there is one: few need any of them."""
    from evaluator.api import EvaluatorError
    from evaluator.devices import DeviceError
    from evaluator.recording import RecordingError
    from evo.campaign_types import CampaignError
    from evo.export import ExportError
    from evo.plugins import PluginError
    from genome.source.errors import SourceError
    from knowledge.errors import KnowledgeError

    of_campaigns = (CampaignError, SourceError, ExportError, PluginError)
    return (*of_campaigns, DeviceError, EvaluatorError, RecordingError, KnowledgeError)
