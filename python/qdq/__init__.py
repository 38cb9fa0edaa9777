"""Quantize and dequantize arrays, with one defined result on every processor.

    >>> import numpy, qdq
    >>> q = qdq.quantize(numpy.float32([[0.5, -1.0], [4.0, 2.0]]), [1 / 127, 4 / 127], dtype="int8", axis=0)
    >>> q
    array([[  64, -127],
           [ 127,   64]], dtype=int8)

`import qdq` imports no other package. docs/python.md has more.
"""

from __future__ import annotations

from qdq._core import (
    DynamicPairPlan,
    DynamicPlan,
    Plan,
    arrange_scales,
    compute_scales,
    current_target,
    dequantize,
    dequantize_blocks,
    dequantize_grouped,
    force_target,
    plan_dequantize,
    plan_quantize,
    plan_quantize_dynamic,
    plan_quantize_dynamic_pair,
    quantize,
    quantize_blocks,
    quantize_dynamic,
    quantize_dynamic_grouped,
    quantize_dynamic_pair,
    quantize_grouped,
    restore_scales,
    set_num_threads,
    targets,
    transcode,
)

__all__ = [
    "DynamicPairPlan",
    "DynamicPlan",
    "Plan",
    "arrange_scales",
    "compute_scales",
    "current_target",
    "dequantize",
    "dequantize_blocks",
    "dequantize_grouped",
    "force_target",
    "plan",
    "quantize",
    "quantize_blocks",
    "quantize_dynamic",
    "quantize_dynamic_grouped",
    "quantize_dynamic_pair",
    "quantize_grouped",
    "restore_scales",
    "set_num_threads",
    "targets",
    "transcode",
]
__version__ = "0.1.0"

TYPE_CHECKING = False  # mypy takes it for typing's, whose import would double that of this package
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, overload

    from numpy.typing import NDArray
else:

    def overload(function):
        return function


@overload
def plan(function: Callable[..., NDArray[Any]], /, *arguments: Any, **keywords: Any) -> Plan: ...
@overload
def plan(
    function: Callable[..., tuple[tuple[Any, ...], tuple[Any, ...]]], /, *arguments: Any, **keywords: Any
) -> DynamicPairPlan: ...
@overload
def plan(function: Callable[..., tuple[Any, ...]], /, *arguments: Any, **keywords: Any) -> DynamicPlan: ...
def plan(function: Callable[..., Any], /, *arguments: Any, **keywords: Any) -> Plan | DynamicPlan | DynamicPairPlan:
    """A call of qdq.quantize, dequantize, quantize_dynamic or its pair with arguments checked and kernels chosen, for many x.

    >>> import numpy, qdq
    >>> x, y = numpy.float32([0.3, 1.7]), numpy.empty(2, "int8")
    >>> to_int8 = qdq.plan(qdq.quantize, x, 0.1, dtype="int8", out=y)
    >>> to_int8(numpy.float32([0.5, -0.5]), y)
    array([ 5, -5], dtype=int8)

    It keeps the arrays of scale and zero point, whose elements each run reads. Any thread may run it.
    """
    planners: dict[Callable[..., Any], Callable[..., Plan | DynamicPlan | DynamicPairPlan]] = {
        quantize: plan_quantize,
        dequantize: plan_dequantize,
        quantize_dynamic: plan_quantize_dynamic,
        quantize_dynamic_pair: plan_quantize_dynamic_pair,
    }
    if function not in planners:
        raise TypeError("qdq.plan: function: it is none of qdq.quantize, qdq.dequantize, qdq.quantize_dynamic and qdq.quantize_dynamic_pair")
    return planners[function](*arguments, **keywords)
