"""evo-tune from Python: ``evo.tune`` evolves a kernel, ``evo.prior`` says what the knowledge base knows of one.

    import evo

    found = evo.tune("campaign.yaml", minutes=3)
    print(found.speedup, found.source)

    known = evo.prior("matmul", device="H200", size={"M": 4096, "N": 4096, "K": 4096})

Importing ``evo`` loads nothing else; what a function needs is loaded when it is first used. Everything else in this
package is for evo-tune itself, and may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evo.asking import Known, prior
    from evo.tuned import Tuned, TuneError
    from evo.tuning import tune

__all__ = ["Known", "TuneError", "Tuned", "prior", "tune"]

_HOMES = {
    "Known": "evo.asking", "TuneError": "evo.tuned", "Tuned": "evo.tuned", "prior": "evo.asking", "tune": "evo.tuning",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'evo' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
