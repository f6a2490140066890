"""A real knowledge base for the whole test run, in a folder of its own; properties may take their time."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from knowledge.store import KnowledgeBase

# No property fails because other tests kept the machine busy while its example was made or run.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session")
def knowledge_base() -> Iterator[KnowledgeBase]:
    """The embedded server, empty at first; tests share it and tell their rows apart by kernel."""
    folder = Path(tempfile.mkdtemp(prefix="evo-tune-test-"))
    os.chmod(folder, 0o755)  # as root the server runs under another account, which must get in
    base = KnowledgeBase.open(None, folder)
    yield base
    base.close()
    shutil.rmtree(folder)
