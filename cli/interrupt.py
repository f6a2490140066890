"""Ctrl-C on the command line (see ``evo.interrupt``)."""

from evo.interrupt import StopSwitch, stop_on_signals

__all__ = ["StopSwitch", "stop_on_signals"]
