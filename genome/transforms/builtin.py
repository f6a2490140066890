"""The built-in transforms, in the order in which they are offered."""

from __future__ import annotations

from genome.transforms.async_copy import AsyncCopies
from genome.transforms.axis_swap import AxisSwap
from genome.transforms.base import Transform
from genome.transforms.block_shape import BlockShape
from genome.transforms.carried_quotient import CarriedQuotient
from genome.transforms.cascade import Cascade
from genome.transforms.coarsen import CoarsenBlocked, CoarsenStrided
from genome.transforms.cooperate import Cooperate
from genome.transforms.early_loads import EarlyLoads
from genome.transforms.fission import Fission
from genome.transforms.fused_sums import FusedSums
from genome.transforms.fusion import Fusion
from genome.transforms.grid_stride import GridStride
from genome.transforms.hoist_loads import HoistLoads
from genome.transforms.interchange import Interchange
from genome.transforms.intrinsics import Intrinsic
from genome.transforms.inverse_root import InverseRoot
from genome.transforms.keep import Keep
from genome.transforms.masked_reads import MaskedReads
from genome.transforms.masked_tile import MaskedTile
from genome.transforms.moments import Moments
from genome.transforms.online import Online
from genome.transforms.pipeline import Pipeline
from genome.transforms.predicate import Predicate
from genome.transforms.privatise import Privatise
from genome.transforms.promote import Promote
from genome.transforms.qualifiers import FastMath, LaunchBounds, Macro, Restrict
from genome.transforms.rasterise import Rasterise
from genome.transforms.register_tile import RegisterTile
from genome.transforms.register_window import RegisterWindow
from genome.transforms.scalar_reads import ScalarReads
from genome.transforms.shared_tile import SharedTile
from genome.transforms.shift_mask import ShiftMask
from genome.transforms.single import Single
from genome.transforms.specialise import Specialise
from genome.transforms.split_reduction import SplitReduction
from genome.transforms.strip import Strip, Unroll
from genome.transforms.tensor_core import TensorCore
from genome.transforms.transpose_tile import TransposeTile
from genome.transforms.two_stages import TwoStages
from genome.transforms.unpeel import Unpeel
from genome.transforms.unroll_jam import UnrollJam
from genome.transforms.vectorise import Vectorise
from genome.transforms.warp_aggregate import WarpAggregate
from genome.transforms.warp_tile import WarpTile

BUILTIN: tuple[Transform, ...] = (
    Macro(),
    Promote(),
    MaskedReads(),
    FusedSums(),
    Single(),
    Predicate(),
    CarriedQuotient(),
    Interchange(),
    Fission(),
    Fusion(),
    UnrollJam(),
    Unpeel(),
    SplitReduction(),
    Specialise(),
    Cooperate(),
    BlockShape(),
    CoarsenBlocked(),
    CoarsenStrided(),
    GridStride(),
    AxisSwap(),
    TransposeTile(),
    WarpTile(),
    Cascade(),
    TwoStages(),
    Privatise(),
    RegisterTile(),
    Online(),
    Moments(),
    Strip(),
    Unroll(),
    SharedTile(),
    MaskedTile(),
    Pipeline(),
    AsyncCopies(),
    RegisterWindow(),
    ScalarReads(),
    HoistLoads(),
    EarlyLoads(),
    Keep(),
    TensorCore(),
    Vectorise(),
    Restrict(),
    FastMath(),
    Intrinsic(),
    InverseRoot(),
    LaunchBounds(),
    Rasterise(),
    WarpAggregate(),
    ShiftMask(),
)
