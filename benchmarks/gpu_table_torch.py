"""The work of an example in PyTorch, timed: eager and compiled, float32 without TF32, cold second-level cache.

    python benchmarks/gpu_table_torch.py NAME SIZE

SIZE is a JSON object, as ``gpu_table.py`` has it, which calls this in a process of its own; prints JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from statistics import median
from typing import Any


def main() -> int:
    """See the module."""
    name, size = sys.argv[1:]
    print(json.dumps(torch_times(name, json.loads(size))))
    return 0


def torch_times(name: str, size: dict[str, int]) -> dict[str, Any]:
    """Milliseconds of the same work in PyTorch: eager and compiled, cold second-level cache, device events."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    work, inputs = torch_work(name, size)
    times: dict[str, Any] = {"eager_ms": timed(torch, work, inputs)}
    try:
        times["compile_ms"] = timed(torch, torch.compile(work), inputs)
    except Exception as error:  # whatever the compiler of another project raises: eager is there
        times["compile_error"] = str(error)[:200]
    return times


def torch_work(name: str, size: dict[str, int]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The function and its inputs on the device."""
    import torch
    from torch.nn import functional

    def uniform(*shape: int) -> Any:
        return torch.rand(*shape, device="cuda")

    n, rows, cols = size.get("n", 0), size.get("rows", 0), size.get("cols", 0)
    height, width = size.get("H", 0), size.get("W", 0)

    def in_tf32(a: Any, b: Any) -> Any:
        torch.backends.cuda.matmul.allow_tf32 = True
        return torch.matmul(a, b)

    def stencil(x: Any) -> Any:
        middle = x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1]
        return 0.2 * middle

    def nbody(p: Any, mass: Any) -> Any:
        forces = []
        for part in p.split(4096):  # the whole distance matrix would not fit
            d = p[None] - part[:, None]
            inverse = torch.rsqrt((d * d).sum(-1) + 0.01)
            forces.append((mass[None, :, None] * inverse[..., None] ** 3 * d).sum(1))
        return torch.cat(forces)

    table: dict[str, Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]] = {
        "sum": lambda: (torch.sum, (uniform(n),)),
        "matmul": lambda: (torch.matmul, (uniform(size["M"], size["K"]), uniform(size["K"], size["N"]))),
        "half_gemm": lambda: (torch.matmul, (uniform(size["M"], size["K"]).half(),
                                             uniform(size["K"], size["N"]).half())),
        "tf32_gemm": lambda: (in_tf32, (uniform(size["M"], size["K"]), uniform(size["K"], size["N"]))),
        "softmax": lambda: (lambda x: torch.softmax(x, 1), (uniform(rows, cols),)),
        "layernorm": lambda: (lambda x, g, b: functional.layer_norm(x, (cols,), g, b),
                              (uniform(rows, cols), uniform(cols), uniform(cols))),
        "histogram": lambda: (lambda x: torch.bincount(x, minlength=256),
                              (torch.randint(0, 256, (n,), device="cuda", dtype=torch.uint8),)),
        "transpose": lambda: (lambda x: x.t().contiguous(), (uniform(height, width),)),
        "gelu": lambda: (lambda x: functional.gelu(x, approximate="tanh"), (uniform(n),)),
        "conv3x3": lambda: (lambda x, w: functional.conv2d(x, w, padding=1),
                            (uniform(1, size["IC"], height, width), uniform(size["OC"], size["IC"], 3, 3))),
        "gemv": lambda: (torch.mv, (uniform(size["M"], size["N"]), uniform(size["N"]))),
        "vector_add": lambda: (torch.add, (uniform(n), uniform(n))),
        "stencil": lambda: (stencil, (uniform(height, width),)),
        "nbody": lambda: (nbody, (uniform(n, 3), uniform(n))),
    }  # fmt: skip
    return table[name]()


def timed(torch: Any, work: Callable[..., Any], inputs: tuple[Any, ...], seconds: float = 2.0) -> float:
    """Median of at least 7 runs, the second-level cache written over before each, outside of the window."""
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    for _ in range(3):
        work(*inputs)
    samples: list[float] = []
    while len(samples) < 7 or (sum(samples) < 1000 * seconds and len(samples) < 50):
        flush.add_(1)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        work(*inputs)
        end.record()
        torch.cuda.synchronize()
        samples.append(start.elapsed_time(end))
    return median(samples)


if __name__ == "__main__":
    raise SystemExit(main())
