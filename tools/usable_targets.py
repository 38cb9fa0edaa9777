"""Which targets of a build's library this machine can run."""

import ctypes


def usable_targets(library):
    """Their names, best first."""
    loaded = ctypes.CDLL(str(library))
    loaded.qdq_target_name.restype = ctypes.c_char_p
    return [loaded.qdq_target_name(i).decode() for i in range(loaded.qdq_target_count()) if loaded.qdq_target_usable(i)]
