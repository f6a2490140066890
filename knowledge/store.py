"""The knowledge base as the rest of the system sees it. SQL is in ``write``, ``queries``, ``prior`` and ``optimum``."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from evaluator.api import Comparison
from evaluator.recording import Recording
from evaluator.result import DeviceInfo, Evaluation, Toolchain
from genome.spec import ProblemSize
from genome.variant import Rejection
from knowledge import (
    bulk,
    crossings,
    joining,
    listing,
    posting,
    prior,
    published,
    queries,
    recordings,
    write,
)
from knowledge.champions import Champion, champions
from knowledge.connection import RETRY_S, Database
from knowledge.deletion import Deleted, delete_campaign
from knowledge.dossier import Dossier, dossier
from knowledge.embedded import EmbeddedServer
from knowledge.filters import Filter
from knowledge.listing import CampaignRow, DeviceRow, KernelRow, TopRow
from knowledge.migrate import migrate
from knowledge.pairs import Pair, pairs
from knowledge.pg_layout import default_data_dir
from knowledge.posting import Posting
from knowledge.published import Recommendation
from knowledge.read_only import Answer, answer
from knowledge.records import CampaignRecord, KernelRecord, Lineage, Outcome, Prior, TrainingRow
from knowledge.rows import BestRow, SimilarRow, Stats, StoredOutcome
from knowledge.trust import SurrogateMetrics
from knowledge.url import parse_url, shown

FIRST_CONTACT_S = 3.0


class KnowledgeBase:
    """A connection to the base. Each method is one transaction, repeated if the server was lost.

    Every method raises KnowledgeError, with how to mend it, when the server stays away or refuses.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @staticmethod
    def open(url: str | None, data_dir: Path | None = None, patience_s: float = RETRY_S) -> KnowledgeBase:
        """Connects and brings the schema up to date.

        Args:
            url: ``postgresql+psycopg://...``, or None for the embedded server, which is started if need be.
            data_dir: Folder of the embedded server; ``$EVO_TUNE_HOME`` or the user's data folder by default.
            patience_s: How long everything is tried again while the server is away.

        Raises:
            KnowledgeError: If the server cannot be started or reached, or its base is from a newer evo-tune.
        """
        if url is not None:
            database = Database(parse_url(url), None, patience_s)
        else:
            server = EmbeddedServer(data_dir if data_dir is not None else default_data_dir())
            database = Database(server.url, server, patience_s)
        try:
            database.start()
            database.run(migrate, retry_s=FIRST_CONTACT_S)
        except BaseException:
            database.close()
            raise
        return KnowledgeBase(database)

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def where(self) -> str:
        """The URL, without its password."""
        return shown(self._database.url)

    def start_campaign(self, record: CampaignRecord, resume: bool) -> int:
        """Id of a new campaign; with ``resume`` that of the last unfinished one of the same name, kernel, device and
        seed, if there is one.

        Raises:
            KnowledgeError: If that one had other sizes, transforms, assumptions, ...: its speed-ups are others.
        """
        token = uuid.uuid4()
        return self._database.run(lambda connection: write.start_campaign(connection, record, token, resume))

    def post(self, campaign: int, item: Posting, patience_s: float | None = None) -> None:
        """Writes one thing that a campaign has to tell; the same one again changes nothing.

        Args:
            campaign: Its id.
            item: What to write.
            patience_s: How long it is tried again while the server is away; None as for everything else.
        """
        self._database.run(lambda connection: write.post(connection, campaign, item), patience_s)

    def record(self, campaign: int, outcome: Outcome) -> None:
        """Writes one finished proposal. Writing the same one again changes nothing.

        ``outcome.lineage.generation`` is its number in the campaign. The baseline is recorded like any other proposal,
        with an empty genome: speed-ups at each size are against it.
        """
        self.post(campaign, posting.outcome_posting(outcome))

    def prove(self, campaign: int, comparison: Comparison) -> None:
        """Writes the figures of a verified final comparison; any other is ignored."""
        self.post(campaign, posting.proof_posting(comparison))

    def reject(self, campaign: int, rejection: Rejection, lineage: Lineage) -> None:
        """Writes a genome that gave no variant."""
        self.post(campaign, posting.rejection_posting(rejection, lineage))

    def finish(self, campaign: int, summary: Mapping[str, Any]) -> None:
        """Marks the campaign as ended; ``summary`` is plain data."""
        self.post(campaign, posting.end_posting(summary))

    def token(self, campaign: int) -> uuid.UUID:
        """What a campaign is called in every base that knows it."""
        return self._database.run(lambda connection: write.campaign_token(connection, campaign))

    def campaign_of(self, token: uuid.UUID, patience_s: float | None = None) -> int | None:
        """Id of the campaign with this token; None if the base has none. ``patience_s``: see ``post``."""
        return self._database.run(lambda connection: write.campaign_of(connection, token), patience_s)

    def delete(self, campaign: int) -> Deleted:
        """Takes a campaign out, and what nobody else knows; optima are elected again."""
        return self._database.run(lambda connection: delete_campaign(connection, campaign))

    def record_all(
        self, token: uuid.UUID, record: CampaignRecord, outcomes: Sequence[Outcome], summary: Mapping[str, Any]
    ) -> bulk.Stored:
        """Writes a campaign that somebody else ran, in one transaction; nothing if its token is known."""
        return self._database.run(lambda connection: bulk.record_all(connection, token, record, outcomes, summary))

    def export(self, path: Path) -> int:
        """Writes the whole base into a file (``.gz`` and ``.xz`` compress it); the number of rows."""
        return self._database.run(lambda connection: joining.export_base(connection, path))

    def join(self, path: Path) -> tuple[int, int]:
        """Takes in a file of ``export`` in one transaction: (rows in it, rows that were new)."""
        return self._database.run(lambda connection: joining.join_base(connection, path))

    def recommend(self, items: Sequence[Recommendation]) -> int:
        """Writes published parameters in one transaction; how many were new."""
        return self._database.run(lambda connection: published.recommend(connection, items))

    def recordings(self, kernel: str, besides: DeviceInfo) -> tuple[Recording, ...]:
        """Recorded spaces of the kernel of this name on other devices than this one, one a device and size."""
        return self._database.run(lambda connection: recordings.recordings(connection, kernel, besides))

    def lookup(
        self, kernel_digest: str, device: DeviceInfo, toolchain: Toolchain, variant_digest: str, contract: str = ""
    ) -> tuple[Evaluation, ...]:
        """The newest measurement of a variant at each size (tuned and check sizes) on this hardware and toolchain, as
        far as it was judged by this contract.
        """
        return self._database.run(
            lambda connection: queries.lookup(connection, kernel_digest, device, toolchain, variant_digest, contract)
        )

    def outcomes(self, campaign: int) -> list[StoredOutcome]:
        """Every recorded proposal of a campaign, in the order of their numbers."""
        return self._database.run(lambda connection: queries.outcomes(connection, campaign))

    def priors(
        self, kernel: KernelRecord, device: DeviceInfo, toolchain: Toolchain, sizes: Sequence[ProblemSize], limit: int
    ) -> tuple[Prior, ...]:
        """Remembered optima of this kernel and of similar ones, the nearest first."""
        return self._database.run(lambda connection: prior.priors(connection, kernel, device, toolchain, sizes, limit))

    def training_rows(self, kernel: KernelRecord, device: DeviceInfo, limit: int) -> tuple[TrainingRow, ...]:
        """Experience for the surrogate, the most relevant first."""
        return self._database.run(lambda connection: queries.training_rows(connection, kernel, device, limit))

    def save_state(self, campaign: int, key: str, data: Mapping[str, Any]) -> None:
        """Replaces one entry of the campaign's state; plain data only."""
        self.post(campaign, posting.state_posting(key, data))

    def load_state(self, campaign: int, key: str) -> Mapping[str, Any] | None:
        """One entry of the campaign's state, or None."""
        return self._database.run(lambda connection: write.load_state(connection, campaign, key))

    def record_metrics(self, campaign: int, ordinal: int, metrics: SurrogateMetrics) -> None:
        """Writes how well the surrogate did up to proposal ``ordinal``."""
        self.post(campaign, posting.metrics_posting(ordinal, metrics))

    def surrogate_metrics(self, campaign: int) -> tuple[tuple[int, SurrogateMetrics], ...]:
        """(proposals before it, figures) of a campaign, in order."""
        return self._database.run(lambda connection: queries.surrogate_metrics(connection, campaign))

    def counts(self) -> dict[str, int]:
        """Rows by table: ``evaluations``, ``campaigns``, ``kernels``, ``variants``, ``rejections``, ..."""
        return self._database.run(queries.counts)

    def best(
        self, kernel: str | KernelRecord, device: str | None = None, size: str | None = None, limit: int = 20,
        nearest: bool = False, wanted: Filter | None = None,
    ) -> tuple[BestRow, ...]:  # fmt: skip
        """The best known variants of a kernel by name, or of the kernels nearest to a record.

        Args:
            kernel: Exact name (a remark in parentheses may follow it), or a record from ``features.kernel_record``.
            device: Part of a device's name or architecture; None for all.
            size: Exact label (``M=512,N=512``); None for all.
            limit: Rows at most.
            nearest: Where that size is not known, the nearest one, with its distance.
            wanted: Further conditions.
        """
        conditions = wanted or Filter()
        conditions = replace(conditions, device=device or conditions.device)
        return self._database.run(lambda connection: prior.best(connection, kernel, size, nearest, conditions, limit))

    def recommended(self, wanted: Filter, limit: int) -> tuple[Recommendation, ...]:
        """Published parameters, by kernel and device."""
        return self._database.run(lambda connection: published.recommended(connection, wanted, limit))

    def top(self, wanted: Filter, size: str | None, limit: int) -> tuple[TopRow, ...]:
        """The fastest variants: ``limit`` for each kernel, size, device and toolchain."""
        return self._database.run(lambda connection: listing.top(connection, wanted, size, limit))

    def history(self, wanted: Filter, limit: int) -> tuple[CampaignRow, ...]:
        """Campaigns, the newest first."""
        return self._database.run(lambda connection: listing.history(connection, wanted, limit))

    def campaign(self, number: int) -> CampaignRow | None:
        """The campaign of this number; None if there is none."""
        rows = self._database.run(lambda connection: listing.history(connection, Filter(), 1, number))
        return rows[0] if rows else None

    def kernels(self, wanted: Filter, limit: int) -> tuple[KernelRow, ...]:
        """Kernels by name."""
        return self._database.run(lambda connection: listing.kernels(connection, wanted, limit))

    def devices(self, wanted: Filter, limit: int) -> tuple[DeviceRow, ...]:
        """Devices by name."""
        return self._database.run(lambda connection: listing.devices(connection, wanted, limit))

    def champions(self) -> tuple[Champion, ...]:
        """Winners of all finished campaigns, the newest first."""
        return self._database.run(champions)

    def crossings(self, name: str, kernel_digest: str, contract: str) -> tuple[crossings.Crossing, ...]:
        """What became of the genomes of a portability study on all of its machines, the oldest first."""
        return self._database.run(lambda connection: crossings.crossings(connection, name, kernel_digest, contract))

    def pairs(self, wanted: Filter, proven: bool, take: Callable[[Iterator[Pair]], None]) -> None:
        """Hands every pair of a kernel as it was and a variant to ``take``, which is called again if the server was
        lost meanwhile; ``proven`` leaves out what was in no final comparison.
        """
        self._database.run(lambda connection: take(pairs(connection, wanted, proven)))

    def similar(self, kernel: KernelRecord, limit: int) -> tuple[SimilarRow, ...]:
        """Kernels by the distance of their structure from this one."""
        return self._database.run(lambda connection: prior.similar(connection, kernel, limit))

    def dossier(self, variant: str) -> Dossier:
        """Everything about the variant whose digest begins so."""
        return self._database.run(lambda connection: dossier(connection, variant))

    def sql(self, statement: str, limit: int, timeout_s: float) -> Answer:
        """The answer to one statement of SQL, read-only."""
        return self._database.run(lambda connection: answer(connection, statement, limit, timeout_s))

    def stats(self, wanted: Filter | None = None) -> Stats:
        """Size of the base and a line for each kernel and device."""
        return self._database.run(lambda connection: queries.stats(connection, wanted or Filter()))

    def close(self) -> None:
        """Disconnects; the last client of an embedded server stops it. Idempotent."""
        self._database.close()
