"""What differs between the libraries whose arrays qdq takes. NumPy's arrays of known types never come here.

A library is known by the module of its arrays' type. None is imported but by its own arrays.
"""

import functools
import numbers
import sys

_ARRAYS = {"torch": "Tensor", "jax": "Array", "jaxlib": "Array", "cupy": "ndarray"}  # the class of each library's


def _library(array):
    """The name of the library that an object's class is of: of its arrays, or of what names its types."""
    module = type(array).__module__
    return module.partition(".")[0] if isinstance(module, str) else ""


def _library_of_array(array):
    """The name of the library that an array is of; "" where only the name of its class's module says so."""
    library = _library(array)
    module = sys.modules.get("jax" if library == "jaxlib" else library)
    made = getattr(module, _ARRAYS.get(library, ""), None)
    return library if isinstance(made, type) and isinstance(array, made) else ""


def readable(array, function, name):
    """A DLPack capsule over the memory of `array`, or a NumPy array of its elements."""
    library = _library_of_array(array)
    if library == "torch":
        return sys.modules["torch"].utils.dlpack.to_dlpack(array.detach())
    if library in ("jax", "jaxlib") and array.dtype.name in ("int4", "uint4", "int2", "uint2", "float4_e2m1fn"):
        import numpy  # DLPack has no elements of one byte of these types

        return numpy.asarray(array)
    if hasattr(array, "__dlpack__"):
        device = array.__dlpack_device__()
        if not isinstance(device, tuple) or len(device) != 2:
            raise TypeError(
                f"{function}: {name}: what __dlpack_device__ gives is no pair of a device's type and number"
            )
        if device[0] != 1 and library in ("jax", "jaxlib"):  # which says nothing of the stream that it works in
            raise TypeError(
                f"{function}: {name}: JAX's arrays are taken from the host alone; jax.device_get copies one there, and "
                "torch.from_dlpack gives a tensor of its memory on a GPU"
            )
        # -1: no waiting. The call is put into the stream that the array's library uses now.
        return array.__dlpack__(stream=-1) if device[0] != 1 else array.__dlpack__()
    if hasattr(array, "__array__"):
        import numpy

        return numpy.asarray(array)
    raise TypeError(f"{function}: {name}: {type(array).__name__} is no array")


def check_writable(array, function):
    if _library_of_array(array) in ("jax", "jaxlib"):
        raise TypeError(f"{function}: out: an array of JAX cannot be written to")
    if not hasattr(array, "__dlpack__"):
        raise TypeError(f"{function}: out: {type(array).__name__} is no array")


def numbers_of(value):
    """A NumPy array of a number or of nested sequences of them: of Python's, where an integer has more than 64 bits."""
    import numpy

    try:
        array = numpy.asarray(value)
    except RuntimeError as error:  # a list that changed meanwhile
        raise ValueError(error) from None
    objects = array.flat if array.dtype.kind == "O" else ()
    if array.dtype.kind in "cmMSTU" or not all(isinstance(each, numbers.Number) for each in objects):
        raise ValueError("it is neither a number nor a sequence of numbers")
    return array


def floats_of(value):
    """The same as float32."""
    return numbers_of(value).astype("float64").astype("float32")


def operand(value, may_be_integer, like, function, name):
    """`value`, or where it is a number or a sequence of numbers, an array of them where `like` is."""
    if not isinstance(value, (int, float, list, tuple)) or isinstance(value, bool):
        return value
    try:
        given = numbers_of(value)
        if may_be_integer and given.dtype.kind in "Oiub":
            converted = given.astype("int32")
            if (converted != given).any():
                raise ValueError("a number is not in the range of int32")
        else:
            converted = floats_of(given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{function}: {name}: {error}") from None
    library = _library_of_array(like)
    if library == "torch":
        return sys.modules["torch"].from_numpy(converted).to(like.device)
    if library == "cupy":
        return sys.modules["cupy"].asarray(converted)
    return converted


def empty(like, shape, dtype, function):
    """A new array of the library of `like` and where it is, or of NumPy, which `result` converts."""
    library = _library_of_array(like)
    if library == "torch":
        torch = sys.modules["torch"]
        if not hasattr(torch, dtype) or dtype in ("int4", "uint4", "int2", "uint2"):
            raise TypeError(f"{function}: dtype: torch has no elements of {dtype}; packed=True gives bytes")
        return torch.empty(shape, dtype=getattr(torch, dtype), device=like.device)
    if library == "cupy":
        cupy = sys.modules["cupy"]
        if not hasattr(cupy, dtype):
            raise TypeError(f"{function}: dtype: cupy has no {dtype}; packed=True gives bytes")
        return cupy.empty(shape, dtype)
    import numpy

    return numpy.empty(shape, numpy_dtype(dtype))


def result(like, array):
    """`array`, of `empty`, as the library of `like` has it."""
    if _library_of_array(like) in ("jax", "jaxlib"):
        return sys.modules["jax"].numpy.asarray(array)
    return array


def stream(array):
    """The address of the stream that the array's library uses now, on the array's device."""
    if _library_of_array(array) == "torch":
        return sys.modules["torch"].cuda.current_stream(array.device).cuda_stream
    if _library_of_array(array) == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream().ptr
    return 0


def check_arguments(function, arguments, keywords):
    """TypeError where a call's arguments are not those of `function`, a builtin of qdq's."""
    import difflib
    import inspect

    name, signature = f"qdq.{function.__name__}", inspect.signature(function)
    for keyword in keywords:
        if keyword not in signature.parameters:
            meant = difflib.get_close_matches(keyword, signature.parameters, 1)
            hint = f"; is {meant[0]} meant?" if meant else ""
            raise TypeError(f"{name}: got an unexpected keyword argument {keyword!a}{hint}")
    try:
        signature.bind(*arguments, **keywords)
    except TypeError as error:
        hint = ', as dtype="int8"' if str(error).endswith("'dtype'") else ""
        raise TypeError(f"{name}: {error}{hint}") from None


def dtype_name(dtype):
    """NumPy's, ml_dtypes' or en_dtypes' name of what a string, a dtype or a type object stands for; None for others."""
    if isinstance(dtype, str):
        return dtype
    if _library(dtype) == "torch":
        return str(dtype).removeprefix("torch.").removesuffix("_x2")  # of two elements
    name = getattr(dtype, "name", None) or getattr(getattr(dtype, "dtype", None), "name", None)
    return name or getattr(dtype, "__name__", None)


@functools.cache
def numpy_dtype(name):
    import ml_dtypes
    import numpy

    found = getattr(numpy, name, None) or getattr(ml_dtypes, name, None)
    if found is None:  # Ascend's types
        try:
            import en_dtypes
        except ImportError:
            raise TypeError(
                f"NumPy has elements of {name} by the package en_dtypes alone, which is missing; packed=True gives bytes"
            ) from None
        found = getattr(en_dtypes, name)
    return numpy.dtype(found)
