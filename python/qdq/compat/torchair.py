"""What a program of torch_npu takes from torchair to compile a graph: a backend for torch.compile, on the host.

    npu_backend = torchair.get_npu_backend(compiler_config=torchair.CompilerConfig())
    model = torch.compile(model, fullgraph=True, backend=npu_backend, dynamic=True)
"""

import types
from typing import Any

__all__ = ["CompilerConfig", "get_npu_backend"]


class CompilerConfig:
    """Settings of graphs on NPUs: they are kept, and nothing here looks at them."""

    def __init__(self) -> None:
        self.debug = types.SimpleNamespace(graph_dump=types.SimpleNamespace(type=None))


def get_npu_backend(*, compiler_config: CompilerConfig | None = None, custom_decompositions: Any = None) -> str:
    """A backend's name for torch.compile: the graph is traced, and its operators run as they are."""
    return "aot_eager"
