"""What a compilation tells of its kernels: the assembler's log, and parameter sizes from the machine code."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")
_LOG_LINE = re.compile(r"ptxas\s+(info|\.)\s")

_ELF_MAGIC = b"\x7fELF\x02\x01"  # 64 bit, little endian
_SECTION = "<IIQQQQIIQQ"  # name, type, flags, address, offset, size, link, info, alignment, entry size
_SIZED, _PARAMETER = 4, 0x17  # EIFMT_SVAL, EIATTR_KPARAM_INFO
_SYMBOL = "<IBBHQQ"  # name, type and binding, visibility, section, value, size
_OBJECT = 1


@dataclass(frozen=True)
class Entry:
    """One kernel as the assembler describes it.

    Attributes:
        registers: Of a thread, 32 bits each.
        frame_bytes: Local memory of a thread: spills, and arrays whose indices are known only at run time.
        spill_bytes: Bytes that a thread stores to and loads from local memory for want of registers.
        shared_bytes: Static shared memory of a block.
    """

    registers: int = 0
    frame_bytes: int = 0
    spill_bytes: int = 0
    shared_bytes: int = 0


def read_log(log: str) -> dict[str, Entry]:
    """Entries by name from the log of ``--ptxas-options=-v``."""
    entries: dict[str, Entry] = {}
    for block in re.split(r"(?=Compiling entry function)", log)[1:]:
        name = _ENTRY.match(block)
        if name is None:
            continue
        frame, used, shared = _FRAME.search(block), _USED.search(block), _SHARED.search(block)
        stores, loads = (int(frame[2]), int(frame[3])) if frame else (0, 0)
        entries[name[1]] = Entry(
            registers=int(used[1]) if used else 0,
            frame_bytes=int(frame[1]) if frame else 0,
            spill_bytes=stores + loads,
            shared_bytes=int(shared[1]) if shared else 0,
        )
    return entries


def complaints(log: str) -> str:
    """The log without the assembler's statistics."""
    return "\n".join(line for line in log.splitlines() if line.strip() and not _LOG_LINE.match(line)).strip()


def parameter_sizes(cubin: bytes) -> Mapping[str, tuple[int, ...]]:
    """Bytes of every parameter, in order, by entry; entries that the file does not describe are left out.

    A launch hands over addresses of values and nothing else: one that is missing, or of another size, would be read
    from whatever lies there.
    """
    found: dict[str, tuple[int, ...]] = {}
    for name, data in sections(cubin):
        if name.startswith(".nv.info."):
            sizes = dict(_parameters(data))
            found[name.removeprefix(".nv.info.")] = tuple(sizes[index] for index in sorted(sizes))
    return found


@dataclass(frozen=True)
class Placed:
    """A variable of the machine code: what its symbol is called, and its bytes."""

    symbol: str
    nbytes: int


def variables(cubin: bytes) -> Mapping[str, Placed]:
    """The ``__constant__`` and ``__device__`` variables by their names in the source, namespaces left out."""
    contents = dict(sections(cubin))
    table, names = contents.get(".symtab", b""), contents.get(".strtab", b"")
    found: dict[str, Placed] = {}
    for start, kind, _, _, _, nbytes in struct.iter_unpack(_SYMBOL, table):
        if kind & 0xF == _OBJECT:
            symbol = names[start : names.index(b"\0", start)].decode(errors="replace")
            found[_plain(symbol)] = Placed(symbol, nbytes)
    return found


def _plain(symbol: str) -> str:
    """``d`` for ``_ZN2ns1dE``: the last of the names behind their lengths (the Itanium C++ ABI)."""
    if not symbol.startswith("_ZN"):
        return symbol
    rest, name = symbol[3:], symbol
    while number := re.match(r"L?(\d+)", rest):
        end = number.end() + int(number[1])
        name, rest = rest[number.end() : end], rest[end:]
    return name


def sections(cubin: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and contents of every section; nothing if the file is of another kind."""
    if cubin[:6] != _ELF_MAGIC:
        return
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    width, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from(_SECTION, cubin, table + width * index) for index in range(count)]
    for header in headers:
        start = headers[names][4] + header[0]
        name = cubin[start : cubin.index(b"\0", start)].decode(errors="replace")
        yield name, cubin[header[4] : header[4] + header[5]]


def _parameters(info: bytes) -> Iterator[tuple[int, int]]:
    """(ordinal, bytes) of the parameters in an ``.nv.info.<entry>`` section: records of format, attribute, value."""
    at = 0
    while at + 4 <= len(info):
        kind, attribute, length = struct.unpack_from("<BBH", info, at)
        at += 4
        if kind != _SIZED:
            continue
        if attribute == _PARAMETER and at + 12 <= len(info):
            _, ordinal, _, packed = struct.unpack_from("<IHHI", info, at)
            yield ordinal, packed >> 18
        at += length
