"""CANN's aclnnQuantize in two phases, with CANN's names, numbers and statuses, on host memory.

Each function has C's arguments in C's order. What C writes through a pointer follows the status in what Python returns:

    status, workspaceSize, executor = aclnnQuantizeGetWorkspaceSize(x, scales, zeroPoints, dtype, axis, out)

Addresses and handles are integers, as ndarray.ctypes.data is one, and 0 is NULL. They are trusted, as in C: memory
stays as long as what refers to it.
"""

from qdq._core import compat as _compat

__all__ = [name for name in dir(_compat) if name.startswith(("acl", "ACL"))]
globals().update({name: getattr(_compat, name) for name in __all__})
