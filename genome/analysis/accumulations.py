"""What accumulators and atomic updates are: reductions, contractions, all pairs, histograms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from genome.analysis.access import Access, AccessMode, MemorySpace, VariableKind
from genome.analysis.facts import Idiom, IdiomName
from genome.analysis.flow import Accumulator, Flow, Sources, factors_of
from genome.analysis.proof import Proof, doubted, proven
from genome.analysis.scans import scanned
from genome.analysis.sliding import slides
from genome.ir.expr import Call, names, walk
from genome.ir.poly import poly
from genome.ir.print_functions import ATOMICS
from genome.ir.stmt import Assign, expressions

_COMBINING = frozenset(ATOMICS) - {"atomicExch", "atomicCAS", "atomicInc"}


def accumulated(accumulator: Accumulator, flow: Flow) -> Iterator[Idiom]:
    """The idioms that an accumulator makes."""
    inputs = _reads(flow.inputs(accumulator), flow)
    moving = [read for read in inputs if _moves(read, accumulator.loops, flow)]
    if not moving:
        return
    results = _results(accumulator, flow)
    scan = scanned(accumulator, moving, results, flow)
    if scan is not None:
        yield scan
        return
    sliding = [read for read in moving if read.form is not None and slides(read.form, accumulator.loops, flow.scope)]
    if sliding:
        reason = "one more iteration reads what the next thread reads now"
        yield _idiom(IdiomName.STENCIL, accumulator, results, sliding, proven(reason, accumulator.line))
    pairs = _pairs(inputs, accumulator, flow)
    factors = _contracted(list(flow.products(accumulator)), accumulator.loops, flow) if accumulator.adds else []
    if factors:
        reason = f"products of elements that depend on different threads are summed over {accumulator.loops[-1]}"
        yield _idiom(IdiomName.CONTRACTION, accumulator, results, factors, proven(reason, accumulator.line))
    elif pairs is not None:
        yield _idiom(IdiomName.ALL_PAIRS, accumulator, results, inputs, pairs)
    elif not sliding and not any(accumulator.loops[-1] in result.loops for result in _later(accumulator, results)):
        yield from _reduction(accumulator, results, moving, flow)


def _later(accumulator: Accumulator, results: Sequence[Access]) -> list[Access]:
    """Results that are stored by another statement than the one that combines."""
    return [result for result in results if result.statement != accumulator.statement]


def _reduction(
    accumulator: Accumulator, results: Sequence[Access], moving: Sequence[Access], flow: Flow
) -> Iterator[Idiom]:
    """One result a row, or one of all; nothing where every thread combines the same elements for itself."""
    whole = bool(results) and all(result.form is not None and not _threads(result, flow) for result in results)
    if not whole and not any(_threads(read, flow) or _others(read, accumulator) for read in moving):
        return
    name = IdiomName.FULL_REDUCTION if whole else IdiomName.ROW_REDUCTION
    reason = "all elements go into one result" if whole else "each result combines elements of its own"
    proof = proven(reason, accumulator.line)
    blind = next((read for read in moving if read.form is None), None)
    if blind is not None:
        proof = doubted(f"{blind.array}: {blind.proof.reason}", blind.line)
    yield _idiom(name, accumulator, results, moving, proof)


def updated(access: Access, flow: Flow) -> Iterator[Idiom]:
    """What an atomic update is."""
    call = _call_of(access, flow)
    if call is None:
        return
    sources = [flow.of(arg, access.statement) for arg in call.args[1:]]
    reads = [read for source in sources for read in _all_reads(source, flow)]
    lines = tuple(sorted({access.line, *(read.line for read in reads)}))
    if access.form is None:
        if any(flow.scope.loads(part) for part in access.subscripts):
            index = [a for a in flow.accesses if a.statement == access.statement and a.mode is AccessMode.READ]
            proof = proven("an atomic combines into the element that a loaded value names", access.line)
            yield Idiom(IdiomName.HISTOGRAM, lines, _arrays([access], [*index, *reads]), proof)
        return
    own = _threads(access, flow)
    spread = {name for read in reads for name in _threads(read, flow)}
    parts = [flow.of(factor, access.statement) for arg in call.args[1:] for factor in factors_of(arg)]
    if _contracted([parts], tuple(spread - own), flow):
        reason = "products of elements that depend on different threads are summed by atomics"
        yield Idiom(IdiomName.CONTRACTION, lines, _arrays([access], reads), proven(reason, access.line))
    elif not own:
        proof = proven("all threads combine into one element", access.line)
        yield Idiom(IdiomName.FULL_REDUCTION, lines, _arrays([access], reads), proof)
    elif spread - own:
        proof = proven("threads combine into the element of their row", access.line)
        yield Idiom(IdiomName.ROW_REDUCTION, lines, _arrays([access], reads), proof)


# ---- what reaches where


def _reads(sources: Sources, flow: Flow) -> list[Access]:
    """Reads of memory among the sources, in program order."""
    found = (flow.accesses[position] for position in sorted(sources.reads))
    return [read for read in found if read.space is not MemorySpace.PRIVATE]


def _all_reads(sources: Sources, flow: Flow) -> list[Access]:
    """Reads that reach the sources, accumulators looked through."""
    found = _reads(sources, flow)
    waiting, seen = list(sources.accumulators), set(sources.accumulators)
    while waiting:
        inputs = flow.inputs(flow.accumulators[waiting.pop()])
        found += _reads(inputs, flow)
        waiting += inputs.accumulators - seen
        seen |= inputs.accumulators
    return list(dict.fromkeys(found))


def _results(accumulator: Accumulator, flow: Flow) -> list[Access]:
    """Stores and updates in memory that the accumulator's value reaches."""
    mine = flow.accumulators.index(accumulator)
    found: list[Access] = []
    for access in flow.accesses:
        if access.space is not MemorySpace.GLOBAL or access.mode is AccessMode.READ:
            continue
        if access.statement == accumulator.statement or mine in _feeding(access, flow):
            found.append(access)
    return found


def _feeding(access: Access, flow: Flow) -> set[int]:
    """Accumulators that reach what is stored."""
    stmt = flow.statements[access.statement]
    values = (stmt.value,) if isinstance(stmt, Assign) else expressions(stmt)
    waiting = [mine for value in values for mine in flow.of(value, access.statement).accumulators]
    found = set(waiting)
    while waiting:
        further = flow.inputs(flow.accumulators[waiting.pop()]).accumulators - found
        found |= further
        waiting += further
    return found


def _moves(read: Access, loops: Sequence[str], flow: Flow) -> bool:
    """True if the element depends on one of the loops."""
    if read.form is not None:
        return any(read.form.coefficient(loop).terms for loop in loops)
    used = {name for part in read.subscripts for name in names(flow.scope.resolve(part))}
    return bool(used & set(loops))


def _threads(access: Access, flow: Flow) -> set[str]:
    """Variables that differ between threads and that the element depends on, through where a loop begins as well."""
    kinds = flow.scope.kinds
    if access.form is None:
        used = {name for part in access.subscripts for name in names(flow.scope.resolve(part))}
        return {name for name in used if kinds.get(name, VariableKind.LOOP) is not VariableKind.LOOP}
    found = {term.variable for term in access.form.terms if term.kind is not VariableKind.LOOP}
    for term in access.form.terms:
        if term.kind is VariableKind.LOOP:
            start = flow.scope.resolve(flow.scope.loops[term.variable].lower)
            found |= {name for name in names(start) if kinds.get(name, VariableKind.LOOP) is not VariableKind.LOOP}
    return found


def _others(read: Access, accumulator: Accumulator) -> bool:
    """True if the element depends on a loop that does not carry the accumulator."""
    terms = read.form.terms if read.form is not None else ()
    return any(term.kind is VariableKind.LOOP and term.variable not in accumulator.loops for term in terms)


def _contracted(products: Sequence[Sequence[Sources]], reduced: Sequence[str], flow: Flow) -> list[Access]:
    """Reads of two factors that depend on a reduced variable together, and on different other ones."""
    for product in products:
        candidates = []
        for factor in product:
            reads = _reads(factor, flow)
            spans = [{term.variable for term in read.form.terms} for read in reads if read.form is not None]
            if reads and len(spans) == len(reads) and all(span & set(reduced) for span in spans):
                candidates.append((reads, set().union(*spans)))
        for number, (reads, span) in enumerate(candidates):
            for others, other in candidates[:number]:
                if span & other & set(reduced) and span - set(reduced) != other - set(reduced):
                    return [*others, *reads]
    return []


def _pairs(inputs: Sequence[Access], accumulator: Accumulator, flow: Flow) -> Proof | None:
    """The proof that each thread's own element meets all elements of the same array; None if it does not."""
    for own in inputs:
        for other in inputs:
            if own.array != other.array or own.form is None or other.form is None or own.form == other.form:
                continue
            if own.space is not MemorySpace.GLOBAL:
                continue  # threads that share partial results are no pairs of elements
            loop = next((loop for loop in accumulator.loops if other.form.coefficient(loop).terms), None)
            mine = [term for term in own.form.terms if term.kind is not VariableKind.LOOP]
            if loop is None or _threads(other, flow) or own.form.coefficient(loop).terms or not mine:
                continue
            factor = other.form.coefficient(loop)
            same = any(term.coefficient == factor for term in mine)
            if same and own.form.constant == other.form.constant:
                return _range_proof(loop, [term.variable for term in mine], accumulator, flow)
    return None


def _range_proof(loop: str, threads: Sequence[str], accumulator: Accumulator, flow: Flow) -> Proof:
    lower, upper = flow.scope.bounds(loop)
    ends = [flow.scope.bounds(name)[1] for name in threads]
    whole = poly(lower).constant == 0 and upper is not None
    if whole and any(end is not None and poly(end) == poly(upper) for end in ends if upper is not None):
        return proven(f"the loop over {loop} runs over the elements that threads own", accumulator.line)
    reason = f"the loop over {loop} is not known to run over all elements that threads own"
    return doubted(reason, accumulator.line)


def _call_of(access: Access, flow: Flow) -> Call | None:
    """The atomic call that makes the access, if it combines."""
    for expr in expressions(flow.statements[access.statement]):
        for node in walk(expr):
            if isinstance(node, Call) and node.function in _COMBINING and access.array in names(node.args[0]):
                return node
    return None


def _idiom(name: IdiomName, accumulator: Accumulator, results: Sequence[Access], reads: Sequence[Access],
           proof: Proof) -> Idiom:  # fmt: skip
    lines = tuple(sorted({accumulator.line, *(read.line for read in reads)}))
    return Idiom(name, lines, _arrays(results, reads), proof)


def _arrays(results: Sequence[Access], reads: Sequence[Access]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(access.array for access in (*results, *reads)))
