"""Five systems' quantize and dequantize calls as modules with their names.

    from qdq.compat import aclnn, nvtripy as tp, pypto, tensorrt as trt, torch_npu

Each has the rules of its system, listed in docs/frontends.md, and computes on the host. docs/python.md has examples.
"""
