"""Conversions by NumPy, for the extension."""
from __future__ import annotations

import warnings
from typing import Any

import numpy


def dtype_of(view: memoryview) -> numpy.dtype[Any]:
    """The dtype of a buffer's items. TypeError if NumPy has none."""
    try:
        found = numpy.dtype(view.format)  # most formats are also names of dtypes
        if found.itemsize == view.itemsize:
            return found
    except (TypeError, ValueError):  # the latter for several fields
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # about padding in structures of ctypes
            found = numpy.asarray(view).dtype
        if found.itemsize == view.itemsize:
            return found
    except (TypeError, ValueError):
        pass
    raise TypeError(f"items of the format {view.format!r} have no datatype: pass a NumPy array")


def _beyond(array: numpy.ndarray[Any, Any], value: Any) -> bool:
    """Whether `array`, which NumPy has converted from the value, is another number, not just a rounded one."""
    if array.dtype.kind in "biu":  # NumPy drops the fraction, or the high bits, of a Python number without an error
        return not numpy.array_equal(array, numpy.asarray(value))
    if array.dtype.kind in "fc" and not numpy.isfinite(array).all():
        return bool(numpy.isfinite(numpy.asarray(value, "G")).all())
    return False


def _real(value: Any) -> Any:
    """A complex number without an imaginary part as a real one; others as they are. NumPy drops the part with a warning
    alone."""
    return numpy.real(value) if numpy.iscomplexobj(value) and not numpy.any(numpy.imag(value)) else value


def number(value: Any, dtype: Any) -> numpy.ndarray[Any, Any]:
    """A number as an array of one element. ValueError if `dtype` cannot hold it, or if there is not one number;
    TypeError for text, which NumPy would parse."""
    kind = numpy.dtype(dtype)
    given = numpy.asarray(value)
    if given.dtype.kind in "SU" or (given.dtype.kind == "O" and any(isinstance(item, (str, bytes)) for item in given.flat)):
        raise TypeError(f"{value!r} is no number")
    if kind.kind != "c":
        value = _real(value)
        if numpy.iscomplexobj(value):
            raise ValueError(f"{value!r} is no value of {kind}")
    try:
        with numpy.errstate(over="ignore"):
            array = numpy.array(value, kind)
        beyond = _beyond(array, value)
    except OverflowError:
        beyond = True
    if beyond:
        raise ValueError(f"{value!r} is no value of {kind}")
    if array.size != 1:
        raise ValueError(f"{value!r} is not one number")
    return array
