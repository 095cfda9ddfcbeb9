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
    except TypeError:
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
