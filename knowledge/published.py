"""Best parameters that somebody published without times: CLBlast's database of kernels, devices and precisions.

The file is JSON, ``{"source": ..., "records": [{"kernel", "precision", "type", "vendor", "arch", "device", "params":
{name: value}}, ...]}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from evaluator.result import DeviceInfo
from genome.genes import Gene, Genome, Site
from genome.spec import KernelSpec, LaunchSpec, Tunable
from knowledge import decode, encode, schema
from knowledge.errors import KnowledgeError
from knowledge.features import kernel_record
from knowledge.filters import Filter, is_named
from knowledge.json_rows import insert_rows
from knowledge.write import ensure_row

DTYPES = {"Half": "float16", "Single": "float32", "Double": "float64", "ComplexSingle": "complex64",
          "ComplexDouble": "complex128"}  # fmt: skip
_FIELDS = ("kernel", "precision", "type", "vendor", "arch", "device")


@dataclass(frozen=True)
class Recommendation:
    """Parameters of a kernel on a device, as ``macro`` genes.

    Attributes:
        kernel: Name.
        device: As far as the source describes it.
        dtype: Element type.
        genome: One gene a parameter.
        source: Who published it.
    """

    kernel: str
    device: DeviceInfo
    dtype: str
    genome: Genome
    source: str


def is_published(data: Any) -> bool:
    """True if JSON data looks like this format."""
    return isinstance(data, dict) and "records" in data and "cache" not in data


def parse_published(data: Mapping[str, Any], path: Path) -> tuple[Recommendation, ...]:
    """The recommendations of a file.

    Raises:
        KnowledgeError: If it is not as the format says; with the record and its field.
    """
    records = data["records"]
    if not isinstance(records, list) or not records:
        raise KnowledgeError(f"{path}: records: expected a list of records")
    source = str(data.get("source") or path.name)
    return tuple(_recommendation(record, source, f"{path}: records[{number}]") for number, record in enumerate(records))


def recommend(connection: Connection, items: Sequence[Recommendation]) -> int:
    """Writes them; those of the same kernel, device, type and source as before are replaced. How many were new."""
    table, genomes = schema.recommendation, {item.genome.digest(): item.genome for item in items}
    rows = ({"digest": key, "genes": encode.genes_json(genomes[key].genes)} for key in sorted(genomes))
    insert_rows(connection, schema.genome, rows)
    ids = {row.digest: row.id for row in connection.execute(select(schema.genome.c.digest, schema.genome.c.id))}
    kernels, devices = _kernels(connection, items), _devices(connection, items)
    unique = {
        (kernels[_identity(item)], devices[item.device], item.dtype, item.source): ids[item.genome.digest()]
        for item in items
    }
    names = [column.name for column in table.primary_key]
    known = {tuple(row) for row in connection.execute(select(*(table.c[name] for name in names)))}
    statement = insert(table)
    statement = statement.on_conflict_do_update(index_elements=names, set_={"genome_id": statement.excluded.genome_id})
    connection.execute(
        statement, [{**dict(zip(names, key, strict=True)), "genome_id": genome} for key, genome in unique.items()]
    )
    return len(unique.keys() - known)


def recommended(connection: Connection, wanted: Filter, limit: int) -> tuple[Recommendation, ...]:
    """Recommendations by kernel, device and type. Sizes, toolchains and structure of a kernel are not known of them."""
    table, hardware = schema.recommendation, schema.hardware
    rows = connection.execute(
        select(
            table.c.dtype, table.c.source, schema.kernel.c.name.label("kernel"), schema.genome.c.genes,
            *(hardware.c[name] for name in ("name", "vendor", "architecture", "kind", "units", "memory_bytes")),
        )
        .join(schema.kernel, schema.kernel.c.id == table.c.kernel_id)
        .join(hardware, hardware.c.id == table.c.hardware_id)
        .join(schema.genome, schema.genome.c.id == table.c.genome_id)
        .where(*([] if wanted.kernel is None else [is_named(wanted.kernel)]), *wanted.on_hardware())
        .where(*([] if wanted.dtype is None else [table.c.dtype == wanted.dtype]), *wanted.on_date(table.c.created_at))
        .order_by(schema.kernel.c.name, hardware.c.name, table.c.dtype)
        .limit(limit)
    )  # fmt: skip
    found = []
    for row in rows:
        genome = decode.genome(row.genes)
        device = DeviceInfo(row.name, row.name, row.vendor, row.architecture, row.kind, row.units, row.memory_bytes)
        if genome is not None:
            found.append(Recommendation(row.kernel, device, row.dtype, genome, row.source))
    return tuple(found)


def _recommendation(record: Any, source: str, where: str) -> Recommendation:
    if not isinstance(record, dict):
        raise KnowledgeError(f"{where}: expected an object, got {type(record).__name__}")
    for name in _FIELDS:
        if not isinstance(record.get(name), str) or not record[name]:
            raise KnowledgeError(f"{where}: {name}: expected a text, got {record.get(name)!r}")
    params = record.get("params")
    if not isinstance(params, dict) or not params or not all(isinstance(v, int | str) for v in params.values()):
        raise KnowledgeError(f"{where}: params: expected numbers or texts by name, got {params!r}")
    if len(params) > decode.MOST_GENES:
        raise KnowledgeError(f"{where}: params: at most {decode.MOST_GENES} are kept, got {len(params)}")
    genes = (
        Gene.of("macro", Site(encode.text(name), f"macro[{number}]"), value=encode.text(str(value)))
        for number, (name, value) in enumerate(params.items())
    )
    device = DeviceInfo(
        record["device"], record["device"], record["vendor"], record["arch"], record["type"].lower(), 0, 0
    )
    dtype = DTYPES.get(record["precision"], str(record["precision"]))
    return Recommendation(record["kernel"], device, encode.text(dtype, encode.NAME_LENGTH), Genome(tuple(genes)),
                          encode.text(source, encode.NAME_LENGTH))  # fmt: skip


def _identity(item: Recommendation) -> tuple[str, ...]:
    """What makes a kernel without a source the same one: its name and those of its parameters."""
    return (item.kernel, *(gene.site.label for gene in item.genome.genes))


def _kernels(connection: Connection, items: Sequence[Recommendation]) -> dict[tuple[str, ...], int]:
    found = {}
    for name, *params in sorted({_identity(item) for item in items}):
        tunables = tuple(Tunable(param, ("0",)) for param in params)
        spec = KernelSpec(name, "", name, (), LaunchSpec((1, 1, 1)), (), tunables=tunables)
        row = encode.kernel_row(kernel_record(spec, None))
        found[name, *params] = ensure_row(connection, schema.kernel, ("digest", "name"), row)
    return found


def _devices(connection: Connection, items: Sequence[Recommendation]) -> dict[DeviceInfo, int]:
    devices = sorted({item.device for item in items}, key=encode.fingerprint)
    return {
        device: ensure_row(connection, schema.hardware, ("fingerprint",), encode.hardware_row(device))
        for device in devices
    }
