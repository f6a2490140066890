"""A base of each earlier revision comes up to date in place, with all that it held."""

from __future__ import annotations

import uuid

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text

from knowledge import migrate
from knowledge.schema import metadata
from knowledge.store import KnowledgeBase

EARLIER = [script.revision for script in ScriptDirectory.from_config(migrate._config()).walk_revisions()][1:]
VECTOR = "[" + ",".join(["0"] * 64) + "]"
HELD = (
    "INSERT INTO hardware (fingerprint, name, vendor, architecture, kind, units, memory_bytes, l2_bytes, shared_bytes, "
    "max_threads, clock_mhz, bandwidth_gbs, peak_gflops, features, feature_version) VALUES "
    f"('f', 'old device', 'v', 'a', 'gpu', 1, 1, 1, 1, 1, 1, 1, 1, '[{','.join(['0'] * 16)}]', 1)",
    "INSERT INTO toolchain (platform, driver, compiler) VALUES ('p', 'd', 'c')",
    "INSERT INTO kernel (digest, name, entry, source, features, feature_version) VALUES "
    f"('d', 'old', 'e', 's', '{VECTOR}', 1)",
    "INSERT INTO problem (kernel_id, label, values, features, feature_version) VALUES "
    "(1, 'N=1', '{\"N\": 1}', '{}', 1)",
    "INSERT INTO campaign (token, name, kernel_id, hardware_id, toolchain_id, seed, version, settings) VALUES "
    f"('{uuid.UUID(int=1)}', 'c', 1, 1, 1, 0, '0', '{{}}')",
    "INSERT INTO genome (digest, genes) VALUES ('g', '[]')",
    "INSERT INTO variant (kernel_id, digest, target, source, options, steps, genome_id) VALUES "
    "(1, 'abcdef', 'cuda', 's', '[]', '[]', 1)",
    "INSERT INTO optimum (kernel_id, hardware_id, toolchain_id, problem_id, variant_id, genome_id, campaign_id, agent, "
    "best_ms, baseline_ms) VALUES (1, 1, 1, 1, 1, 1, 1, 'a', 1.5, 3)",
)  # fmt: skip


@pytest.mark.parametrize("revision", EARLIER)
def test_an_old_base_is_brought_up_to_date(revision: str, knowledge_base: KnowledgeBase) -> None:
    name = f"upgrade_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(knowledge_base.where.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = knowledge_base.where.replace("/evo_tune?", f"/{name}?")
    engine = create_engine(url)
    with engine.begin() as connection_then:
        migrate.migrate(connection_then, revision)
        for statement in HELD:
            connection_then.execute(text(statement.replace(":", r"\:")))
    with KnowledgeBase.open(url) as base:
        (row,) = base.best("old")
        assert (row.best_ms, row.baseline_ms, row.device, row.variant) == (1.5, 3.0, "old device", "abcdef")
        assert base.stats().revision == migrate.head()
    with engine.connect() as connection_now:
        assert _differences(connection_now) == []
    engine.dispose()


def _differences(connection: Connection) -> list[object]:
    return list(compare_metadata(MigrationContext.configure(connection), metadata))
