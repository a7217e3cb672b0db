"""libcohort: bulk parallel maps, bitmap sets, joins, groups, sorting and partition, on CPUs and GPUs, without
copies.

Arrays come in by the buffer protocol (numpy, array, memoryview) or by Arrow's C interfaces (pyarrow, polars,
pandas, duckdb). A numpy array in gives numpy arrays out; else answers are `libcohort.Array`, which all of
these take without a copy. Arrays in a GPU's memory (DLPack, CUDA's array interface) are answered there.

>>> import libcohort
>>> libcohort.unique([3, 1, 3]).tolist()
[1, 3]
"""

from ._context import device, info, limits
from ._core import Array, version
from ._errors import (
    ArgumentError,
    CancelledError,
    DeviceError,
    Error,
    FileError,
    FormatError,
    FullError,
    OutOfMemoryError,
    UnsupportedError,
)
from ._functions import argsort, factorize, index_in, is_in, sort, unique, value_counts
from ._gpu import to_device, to_host
from ._group import GroupBy, group_by
from ._join import join, join_size
from ._kmers import Kmers, count_kmers
from ._map import Map
from ._multimap import MultiMap
from ._partition import Partition, compact, histogram, partition
from ._sets import Sets
from ._set import Set
from ._table import Column, Table

__version__ = version()

__all__ = [
    "ArgumentError",
    "Array",
    "CancelledError",
    "Column",
    "DeviceError",
    "Error",
    "FileError",
    "FormatError",
    "FullError",
    "GroupBy",
    "Kmers",
    "Map",
    "MultiMap",
    "OutOfMemoryError",
    "Partition",
    "Set",
    "Sets",
    "Table",
    "UnsupportedError",
    "argsort",
    "compact",
    "count_kmers",
    "device",
    "factorize",
    "group_by",
    "histogram",
    "index_in",
    "info",
    "is_in",
    "join",
    "join_size",
    "limits",
    "partition",
    "sort",
    "to_device",
    "to_host",
    "unique",
    "value_counts",
]
