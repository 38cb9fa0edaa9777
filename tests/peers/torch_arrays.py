"""NumPy arrays with the types of ml_dtypes, which torch.from_numpy() does not know, as torch tensors and back."""

import ml_dtypes
import torch

import comparison


def to_torch(array):
    if hasattr(ml_dtypes, array.dtype.name):
        return torch.from_numpy(comparison.bits(array)).view(getattr(torch, array.dtype.name))
    return torch.from_numpy(array)


def to_numpy(tensor):
    name = str(tensor.dtype).removeprefix("torch.")
    return tensor.view(getattr(torch, f"uint{8 * tensor.itemsize}")).numpy().view(name)
