"""Two small kernels that measure what a device can reach at most: copy bandwidth and single-precision multiply-adds."""

from __future__ import annotations

import numpy as np
import pyopencl as cl

_COPY_BYTES = 128 * 1024 * 1024  # larger than the last-level cache of all but a few server CPUs
_REPEATS = 12
_CHAINS = 8  # independent accumulators: enough to hide the latency of a multiply-add
_WIDTH = 8
_STEPS = 2048

_COPY = "__kernel void copy(__global const float4 *a, __global float4 *b) { size_t i = get_global_id(0); b[i] = a[i]; }"


def copy_bandwidth(context: cl.Context, queue: cl.CommandQueue) -> float:
    """Bytes read and written by a copy, in GB/s, best of several runs."""
    kernel = cl.Kernel(cl.Program(context, _COPY).build(), "copy")
    source = cl.Buffer(context, cl.mem_flags.READ_WRITE, _COPY_BYTES)
    target = cl.Buffer(context, cl.mem_flags.READ_WRITE, _COPY_BYTES)
    cl.enqueue_fill_buffer(queue, source, np.ones(1, np.uint8), 0, _COPY_BYTES)
    kernel.set_args(source, target)
    seconds = _best_seconds(queue, kernel, (_COPY_BYTES // 16,), (256,))
    source.release()
    target.release()
    return 2.0 * _COPY_BYTES / seconds * 1e-9


def multiply_add_peak(context: cl.Context, queue: cl.CommandQueue) -> float:
    """Single-precision GFLOP/s of independent multiply-adds in registers, best of several runs."""
    kernel = cl.Kernel(cl.Program(context, _multiply_add_source()).build(), "peak")
    items = 512 * int(context.devices[0].max_compute_units)
    result = cl.Buffer(context, cl.mem_flags.READ_WRITE, items * 4)
    kernel.set_args(result, np.float32(0.999), np.float32(0.001))
    seconds = _best_seconds(queue, kernel, (items,), (64,))
    result.release()
    return 2.0 * _CHAINS * _WIDTH * _STEPS * items / seconds * 1e-9


def _multiply_add_source() -> str:
    names = [f"s{index}" for index in range(_CHAINS)]
    start = " ".join(f"float{_WIDTH} s{i} = (float{_WIDTH})(get_global_id(0) + {i}.0f);" for i in range(_CHAINS))
    body = " ".join(f"{name} = {name} * x + y;" for name in names)
    total = " + ".join(f"t.s{lane:x}" for lane in range(_WIDTH))
    return (
        f"__kernel void peak(__global float *out, float a, float b) {{ {start} "
        f"const float{_WIDTH} x = (float{_WIDTH})(a), y = (float{_WIDTH})(b); "
        f"for (int i = 0; i < {_STEPS}; i++) {{ {body} }} "
        f"const float{_WIDTH} t = {' + '.join(names)}; out[get_global_id(0)] = {total}; }}"
    )


def _best_seconds(queue: cl.CommandQueue, kernel: cl.Kernel, shape: tuple[int, ...], block: tuple[int, ...]) -> float:
    best = float("inf")
    for _ in range(_REPEATS):
        event = cl.enqueue_nd_range_kernel(queue, kernel, shape, block)
        event.wait()
        best = min(best, float(event.profile.end - event.profile.start) * 1e-9)
    return best
