"""Functions of arrays: each is one call of the library, sometimes two, and names what numpy and pandas name
alike."""

from __future__ import annotations

import array
from typing import Any

from . import _core, _keys, _numpy
from ._arrays import BOOL, BYTES, F32, F64, I32, I64, U32
from ._arrays import common, give_out, narrowed, storage, stored, take_in
from ._context import current
from ._gpu import context_for, together
from ._table import take_any

# cohort_width, cohort_op and cohort_winner
WIDTH_32_0, WIDTH_32_32, WIDTH_64_0, WIDTH_64_32, WIDTH_64_64, WIDTH_128_64 = 1, 2, 3, 4, 5, 6
INSERT, ASSIGN, ERASE, ADD, COUNT = 1, 2, 3, 4, 10
ANY, FIRST, LAST = 0, 1, 2

# The one NaN of each type of floats, and numpy's NaT.
_NANS = {code: _core.view(array.array(kind, [float("nan")]), "") for code, kind in ((F32, "f"), (F64, "d"))}
_NAT = _core.view(array.array("q", [-(2**63)]), "")

# Up to so many pairs of a key and a value comparing each is faster than a table.
_PAIRS = 1024
# Up to so many entries sorting is faster than a map, whatever they are; and the size of a sample.
_FEW = 2048
# On a GPU sorting so many is done before a sample of them, in pieces, would be in the host's memory.
_FEW_ON_GPU, _PIECE = 1 << 20, 256
# Repetitions in a sample of _FEW from which on there are few distinct keys: about 260,000, whose map stays in
# a core's cache; 16,000, which the library's tables of keys count faster than sorting does; 1,300, which they
# also tell apart faster than a map.
_SOME_REPEAT, _COUNTED, _VERY_FEW = 8, 128, 1024


def sort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Any:
    """The elements in ascending order, as `numpy.sort`; NaNs and NaTs are last (first if descending). Every
    sort is stable, whatever `kind` and `stable` say, and `axis` can be no other than the one there is.

    >>> import libcohort
    >>> libcohort.sort([3, -1, 2])
    libcohort.Array([-1, 2, 3], type='int64')
    """
    if axis != -1 or kind is not None or order is not None:
        _numpy.check_order(axis, kind, order)
    keys, numpy = take_in(a, "a", True)
    code = keys._code
    keys = (
        _core.canonical(keys, False) if code >= F32 and code != BOOL else _core.cast(keys, storage(code), "a")
    )
    out = give_out(narrowed(_core.sort(context_for(keys), keys, descending, False, None)[0], code), numpy)
    if numpy is not None and _numpy.are_dates(a):
        return _numpy.ordered(a, out.view(a.dtype), descending)
    return out


def argsort(
    a: Any,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    descending: bool = False,
    stable: bool | None = None,
) -> Any:
    """The indices that sort `a`, as `numpy.argsort(a, kind="stable")`: equal elements keep their order, also
    if descending. Arguments as of `sort`.

    >>> import libcohort
    >>> libcohort.argsort([30, 10, 20]).tolist()
    [1, 2, 0]
    """
    if axis != -1 or kind is not None or order is not None:
        _numpy.check_order(axis, kind, order)
    given, numpy = take_in(a, "a", True)
    keys = stored(given, "a")
    out = give_out(_core.sort(context_for(keys), keys, descending, True, None, False)[1], numpy)
    return _numpy.ordered(a, out, descending) if numpy is not None and _numpy.are_dates(a) else out


def unique(
    a: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct elements, and on request where each occurs first, which one each element is, and how often
    each occurs.

    As `numpy.unique`, also for strings, columns with nulls (which are last) and rows of tables. A numpy array
    of several dimensions is taken as one, and `axis` can be no other than the one there is. With
    `sorted=False` the elements are in no order, or in the order of their first occurrence if `return_index`
    or `return_inverse` is asked for. All NaNs are one element; with `equal_nan=False` each is one of its own,
    and they are last, in the order in which they occur. Columns of floats with nulls refuse that.

    >>> import libcohort
    >>> libcohort.unique([3, 1, 3, 2]).tolist()
    [1, 2, 3]
    >>> values, counts = libcohort.unique([3, 1, 3, 2], return_counts=True)
    >>> counts.tolist()
    [1, 1, 2]
    """
    if axis is not None:
        _numpy.check_axis(axis)
    elif getattr(a, "ndim", 1) != 1 and _numpy.is_array(a):
        flat = unique(
            a.reshape(-1),
            return_index,
            return_inverse,
            return_counts,
            equal_nan=equal_nan,
            sorted=sorted,
        )
        return _numpy.shaped(flat, a.shape, 1 + return_index if return_inverse else 0)
    given, numpy = take_any(a, "a", True)
    if type(given) is not _core.Array:
        if not equal_nan:
            _keys.check_nan(given)
        return _keys.unique(given, numpy, return_index, return_inverse, return_counts, sorted)
    keys = stored(given, "a")
    first = return_index or return_inverse
    repeats = _repeats(keys)
    many = sorted and repeats < _SOME_REPEAT
    if keys._gpu is not None and not first and (return_counts or many):
        parts = _unique_by_sort(keys, False, False, return_counts)
    elif keys._gpu is not None:
        parts = _unique_on_gpu(keys, return_index, return_inverse, return_counts, sorted)
    elif repeats >= _SOME_REPEAT and (first or return_counts):
        parts = _unique_by_keys(keys, sorted)
    elif first and not sorted:
        parts = _unique_by_numbers(keys, return_counts, _room(keys, repeats))
    elif first or return_counts or repeats < _SOME_REPEAT:
        parts = _unique_by_sort(keys, first, return_inverse, return_counts)
    elif repeats >= _VERY_FEW:
        parts = _keys.plain(_core.frame_unique(_keys.of_array(keys), sorted), keys._code), None, None, None
    else:
        parts = _unique_by_map(keys, sorted)
    dates = numpy is not None and _numpy.are_dates(a)
    if not equal_nan and (dates or keys._code in _NANS):
        parts = _nans_apart(keys, parts, _NAT if dates else _NANS[keys._code])
    values, index, inverse, counts = parts
    out = [give_out(narrowed(values, given._code), numpy)]
    for wanted, part in ((return_index, index), (return_inverse, inverse), (return_counts, counts)):
        if wanted:
            out.append(give_out(part, numpy))
    if dates:
        if sorted and equal_nan:
            out = _numpy.distinct(a, out, 1 + return_index if return_inverse else None)
        else:
            out[0] = out[0].view(a.dtype)
    return out[0] if len(out) == 1 else tuple(out)


_Parts = tuple[_core.Array, Any, Any, Any]


def _nans_apart(keys: _core.Array, parts: _Parts, nan: _core.Array) -> _Parts:
    """Each NaN an element of its own, behind the others, in the order in which they occur. By the host's
    memory."""
    if keys._gpu is not None:
        on = context_for(keys)
        here: Any = [None if part is None else _core.to_host(part) for part in parts]
        made = _nans_apart(_core.to_host(keys), tuple(here), nan)
        there: Any = [None if part is None else _core.to_device(on, part) for part in made]
        return tuple(there)
    values, index, inverse, counts = parts
    at = _core.among(nan, values, True)[0]
    if at < 0:
        return parts
    rows = _core.compact(current(), _core.iota(len(keys), I64), _core.among(keys, nan, False), 0)
    one = take_in([1], "")[0]
    if inverse is not None:
        inverse = _core.without_number(inverse, at, len(values) - 1)
    return (
        _put_last(values, at, _core.repeat(nan, len(rows))),
        None if index is None else _put_last(index, at, rows),
        inverse,
        None if counts is None else _put_last(counts, at, _core.repeat(one, len(rows))),
    )


def _put_last(part: _core.Array, at: int, more: _core.Array) -> _core.Array:
    """All but number `at`, and more behind them."""
    return _core.concat([part[:at], part[at + 1 :], more], part._code, "")[0]


def _unique_by_sort(keys: _core.Array, index: bool, inverse: bool, counts: bool) -> _Parts:
    on = context_for(keys)
    ordered, permutation, _ = _core.sort(on, keys, False, index, None)
    values, starts, lengths = _core.runs(on, ordered, index, counts)
    return (
        values,
        _core.take(permutation, starts) if index else None,
        _core.number_runs(permutation, starts) if inverse else None,
        lengths,
    )


def _unique_by_map(keys: _core.Array, sorted: bool) -> _Parts:
    on = context_for(keys)
    room = 1024 if keys._gpu is None else max(len(keys), 1)
    map = _core.map_new(on, WIDTH_64_0 if BYTES[keys._code] == 8 else WIDTH_32_0, room, 0)
    _core.map_change(map, INSERT, keys, None, ANY)
    values, _ = _core.map_items(map, keys._code, 0, keys._gpu is not None)
    if sorted:
        values = _core.sort(on, values, False, False, None)[0]
    return values, None, None, None


def _unique_on_gpu(keys: _core.Array, index: bool, inverse: bool, counts: bool, sorted: bool) -> _Parts:
    """So that nothing leaves the GPU: keys of 8 bytes by maps, whose values are the numbers, and those of 4 by
    sorting and looking up, which answer numbers of 8."""
    if not index and not inverse:
        return _unique_by_map(keys, sorted)[0], None, None, None
    on = context_for(keys)
    if BYTES[keys._code] == 4:
        return _unique_by_rows(on, keys, index, inverse, counts, sorted)
    map = _core.map_new(on, WIDTH_64_64, max(len(keys), 1), 0)
    _core.map_change(map, INSERT, keys, _core.iota(len(keys), I64, on), FIRST)
    values, firsts = _core.map_items(map, keys._code, I64, True)
    if sorted:
        values, _, firsts = _core.sort(on, values, False, False, firsts)
    else:
        firsts, _, values = _core.sort(on, firsts, False, False, values)
    inverses = _look_up(values, _core.iota(len(values), I64, on), keys) if inverse else None
    return values, firsts, inverses, _occurrences(keys, values) if counts else None


def _unique_by_rows(
    on: _core.Context, keys: _core.Array, index: bool, inverse: bool, counts: bool, sorted: bool
) -> _Parts:
    """The runs of what is sorted; where each occurs first is its row among all keys, and which one each key is
    is that key's row among the distinct ones."""
    ordered = _core.sort(on, keys, False, False, None)[0]
    values, _, many = _core.runs(on, ordered, False, counts)
    firsts: Any = _core.rows_among(on, values, keys) if index or not sorted else None
    if not sorted:
        if counts:
            many = _core.sort(on, firsts, False, False, many)[2]
        firsts, _, values = _core.sort(on, firsts, False, False, values)
    return values, firsts, _core.rows_among(on, keys, values) if inverse else None, many


def _look_up(keys: _core.Array, numbers: _core.Array, asked: _core.Array, missing: int = 0) -> _core.Array:
    """The numbers that go with the keys of 8 bytes that are asked for."""
    map = _core.map_new(context_for(keys), WIDTH_64_64, max(len(keys), 1), 0)
    _core.map_change(map, INSERT, keys, numbers, ANY)
    return _found(map, asked, missing)


def _occurrences(keys: _core.Array, distinct: _core.Array) -> _core.Array:
    """How often each of the distinct keys of 8 bytes is there."""
    map = _core.map_new(context_for(keys), WIDTH_64_64, max(len(distinct), 1), 0)
    _core.map_change(map, COUNT, keys, None, ANY)
    return _found(map, distinct)


def _found(map: _core.Handle, keys: _core.Array, missing: int = 0) -> _core.Array:
    return _core.map_find(map, keys, I64, take_in([missing], "")[0])[0]


def _repeats(keys: _core.Array) -> int:
    """How many keys of a sample of 2,048 are there before; 0 for arrays that are short. With d distinct ones,
    equally frequent, about 2,048^2 / 2d while that is small: eight for d = 260,000."""
    if len(keys) <= (_FEW if keys._gpu is None else _FEW_ON_GPU):
        return 0
    if keys._gpu is None:
        sample = keys[:: len(keys) // _FEW]
        distinct = _core.runs(current(), _core.sort(current(), sample, False, False, None)[0], False, False)[0]
        return len(sample) - len(distinct)
    seen: list[Any] = []
    for at in range(0, len(keys) - _PIECE, len(keys) * _PIECE // _FEW):
        seen += _core.to_host(keys[at : at + _PIECE]).tolist()
    return len(seen) - len(set(seen))


def _unique_by_keys(keys: _core.Array, sorted: bool) -> _Parts:
    """Few distinct keys: the library's numbers of them, in the order in which they occur."""
    codes, frame = _core.frame_factorize(_keys.of_array(keys), False, True)
    values = _keys.plain(frame, keys._code)
    index, counts = _core.first_rows(codes, len(values))
    if sorted:
        values, order, index = _core.sort(current(), values, False, True, index)
        rank = _core.number_runs(order, _core.iota(len(order), I64))
        codes, counts = _core.take(rank, codes), _core.take(counts, order)
    return values, index, codes, counts


def _unique_by_numbers(keys: _core.Array, counts: bool, room: int) -> _Parts:
    """Many, in the order in which they occur: a map from each key to its first index tells that, and each
    entry's number."""
    index, codes = _core.numbers(_first_index(keys, room))
    many = _core.first_rows(codes, len(index))[1] if counts else None
    return _core.take(keys, index), index, codes, many


def _room(keys: _core.Array, repeats: int) -> int:
    """For how many distinct keys a map is made, by the sample: twice as many as it makes likely, and all if
    none repeats."""
    return len(keys) if not repeats else min(len(keys), _FEW**2 // repeats)


def _first_index(keys: _core.Array, room: int) -> _core.Array:
    """The index of the first entry that has each entry's key, by a map for so many keys. In the host's memory."""
    if len(keys) ** 2 <= _PAIRS:
        return _core.among(keys, keys, True)
    short = len(keys) < 1 << 31
    wide = BYTES[keys._code] == 8 or not short
    keys = _core.cast(keys, I64, "keys") if wide and BYTES[keys._code] != 8 else keys
    width = (WIDTH_64_32 if wide else WIDTH_32_32) if short else WIDTH_64_64
    return _core.map_put_and_find(_core.map_new(current(), width, room, 0), keys, None, FIRST)


def factorize(
    values: Any, sort: bool = False, use_na_sentinel: bool = True, size_hint: int | None = None
) -> tuple[Any, Any]:
    """(codes, uniques): the distinct values in the order in which they occur, or in ascending order with
    `sort`, and which of them each element is.

    As `pandas.factorize`: strings, dates and others too. A null, a NaN and numpy's NaT have the code -1 and
    are none of the values; with `use_na_sentinel=False` they are values like others. In rows of several
    columns a NaN always is. A hint of the size is not needed.

    >>> import libcohort
    >>> codes, uniques = libcohort.factorize([30, 10, 30])
    >>> codes.tolist(), uniques.tolist()
    ([0, 1, 0], [30, 10])
    """
    given, numpy = take_any(values, "values", True)
    if type(given) is not _core.Array:
        return _keys.factorize(given, numpy, sort, use_na_sentinel)
    keys = stored(given, "values")
    if sort:
        distinct, _, codes, _ = _unique_by_sort(keys, True, True, False)
    elif keys._gpu is not None:
        distinct, _, codes, _ = _unique_on_gpu(keys, False, True, False, False)
    elif _few(keys, keys):
        distinct, _, codes, _ = _unique_by_numbers(keys, False, len(keys))
    else:
        codes, frame = _core.frame_factorize(_keys.of_array(keys), False, True)
        distinct = _keys.plain(frame, keys._code)
    if use_na_sentinel and keys._code in _NANS:
        codes, distinct = _without_nan(codes, distinct)
    out = give_out(codes, numpy), give_out(narrowed(distinct, given._code), numpy)
    if numpy is not None and _numpy.are_dates(values):
        return _numpy.numbered(values, *out, sort, use_na_sentinel)
    return out


def _without_nan(codes: _core.Array, distinct: _core.Array) -> tuple[_core.Array, _core.Array]:
    """The same without a number for NaN, whose code becomes -1."""
    nan = _NANS[distinct._code]
    if distinct._gpu is None:
        at = _core.among(nan, distinct, True)[0]
        if at >= 0:
            codes = _core.without_number(codes, at, -1)
            distinct = _put_last(distinct, at, distinct[:0])
        return codes, distinct
    on = context_for(distinct)
    at = _core.rows_among(on, _core.to_device(on, nan), distinct)[0]
    if at < 0:
        return codes, distinct
    before = _core.iota(len(distinct), I64, on)
    kept = _core.concat([before[:at], before[at + 1 :]], I64, "", on)[0]
    codes = _look_up(kept, before[: len(kept)], codes, -1)
    return codes, _core.concat([distinct[:at], distinct[at + 1 :]], distinct._code, "", on)[0]


def value_counts(
    values: Any,
    sort: bool = True,
    ascending: bool = False,
    normalize: bool = False,
    bins: None = None,
    dropna: bool = True,
) -> tuple[Any, Any]:
    """(distinct values, how often each occurs), the most frequent first, or last with `ascending`.

    Arguments as pandas has them: nulls, NaNs and numpy's NaTs are left out unless `dropna=False`, and so are
    rows of tables that have one; `normalize` gives shares of what is counted. `bins` are refused. Equally
    frequent values are in ascending order if they are plain numbers, else (strings, nulls, several columns)
    in that in which they occur first. With `sort=False` all are in ascending order, NaNs and nulls last.

    >>> import libcohort
    >>> values, counts = libcohort.value_counts([7, 5, 7])
    >>> values.tolist(), counts.tolist()
    ([7, 5], [2, 1])
    >>> libcohort.value_counts([7, 5, 7, 7], normalize=True)[1].tolist()
    [0.75, 0.25]
    """
    if bins is not None:
        _numpy.check_bins(bins)
    given, numpy = take_any(values, "values", True)
    if type(given) is not _core.Array:
        return _keys.value_counts(given, numpy, sort, ascending, normalize, dropna)
    keys = stored(given, "values")
    if keys._gpu is None and _repeats(keys) >= _COUNTED:
        keys, many = _keys.counted(_keys.of_array(keys), keys._code)
    else:
        keys, _, _, many = _unique_by_sort(keys, False, False, True)
    dates = numpy is not None and _numpy.are_dates(values)
    if dropna and keys._code in _NANS and len(keys) and keys[-1] != keys[-1]:
        keys, many = keys[:-1], many[:-1]
    elif dates and len(keys) and keys[0] == _NAT[0]:
        keys, many = (x[1:] if dropna else _put_last(x, 0, x[:1]) for x in (keys, many))
    if sort:
        many, _, keys = _core.sort(context_for(keys), many, not ascending, False, keys)
    out = give_out(narrowed(keys, given._code), numpy)
    if dates:
        out = out.view(values.dtype)
    return out, give_out(_core.shares(many) if normalize else many, numpy)


def _alike(a: _core.Array, b: _core.Array, names: tuple[str, str]) -> tuple[_core.Array, _core.Array]:
    """Both arrays in one type."""
    if a._code == b._code:
        return a, b
    code = common(a._code, b._code)
    if not code:
        raise TypeError(
            f"{names[0]} is of type {a.type} and {names[1]} of {b.type}: there is no type for both"
        )
    return _core.cast(a, code, names[0]), _core.cast(b, code, names[1])


def _few(a: _core.Array, b: _core.Array) -> bool:
    """Whether it is best to compare each with each."""
    return a._gpu is None and b._gpu is None and len(a) * len(b) <= _PAIRS


def _many(a: _core.Array, b: _core.Array) -> bool:
    """Whether it pays to make frames of both, which the library looks up without a map, on a CPU."""
    if a._gpu is not None or b._gpu is not None or max(len(a), len(b)) <= _FEW:
        return False
    return _core.context_gpu(current())[0] < 0


def is_in(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Any:
    """For each element whether it is among the test elements, as `numpy.isin`. A NaN is equal to a NaN. The
    way is chosen here: `assume_unique` and `kind` change nothing.

    >>> import libcohort
    >>> libcohort.is_in([1, 2, 3], [3, 1]).tolist()
    [True, False, True]
    """
    if kind is not None:
        _numpy.check_kind_of_lookup(kind)
    a, numpy = take_any(element, "element", True)
    b, numpy_too = take_any(test_elements, "test_elements", True)
    if numpy is not None and numpy_too is not None:
        _numpy.check_units(element, test_elements, ("element", "test_elements"))
    if type(a) is not _core.Array or type(b) is not _core.Array:
        return _keys.is_in(a, b, invert, numpy or numpy_too, ("element", "test_elements"))
    names = ("element", "test_elements")
    a, b = _alike(a, b, names)
    if _many(a, b):
        return _keys.is_in(a, b, invert, numpy or numpy_too, names)
    a, b = stored(a, names[0]), stored(b, names[1])
    if _few(a, b):
        hit = _core.among(a, b, False)
        return give_out(_core.opposite(hit) if invert else hit, numpy or numpy_too)
    a, b, on = together(a, b, (element, test_elements), names)
    map = _core.map_new(on, WIDTH_64_0 if BYTES[b._code] == 8 else WIDTH_32_0, max(len(b), 1), 0)
    _core.map_change(map, INSERT, b, None, ANY)
    hit = _core.map_contains(map, a)
    if invert:
        hit = _core.opposite(hit)
    return give_out(hit, numpy or numpy_too)


def index_in(values: Any, value_set: Any) -> Any:
    """For each value the index of its first occurrence in `value_set`, -1 where it is not there.

    >>> import libcohort
    >>> libcohort.index_in([20, 7], [10, 20, 20]).tolist()
    [1, -1]
    """
    a, numpy = take_any(values, "values", True)
    b, numpy_too = take_any(value_set, "value_set", True)
    if numpy is not None and numpy_too is not None:
        _numpy.check_units(values, value_set, ("values", "value_set"))
    if type(a) is not _core.Array or type(b) is not _core.Array:
        return _keys.index_in(a, b, numpy or numpy_too, ("values", "value_set"))
    names = ("values", "value_set")
    a, b = _alike(a, b, names)
    if _many(a, b):
        return _keys.index_in(a, b, numpy or numpy_too, names)
    a, b = stored(a, names[0]), stored(b, names[1])
    if _few(a, b):
        return give_out(_core.among(a, b, True), numpy or numpy_too)
    a, b, on = together(a, b, (values, value_set), names)
    wide = BYTES[b._code] == 8
    if b._gpu is not None and not wide:  # numbers of 8 bytes, which do not leave the GPU
        return give_out(_core.rows_among(on, a, b), numpy or numpy_too)
    map = _core.map_new(on, WIDTH_64_64 if wide else WIDTH_32_32, max(len(b), 1), 0)
    index = _core.iota(len(b), I64 if wide else U32, *([] if b._gpu is None else [on]))
    _core.map_change(map, INSERT, b, index, FIRST)
    kind = I64 if wide else I32
    missing = _core.cast(take_in([-1], "")[0], kind, "")
    return give_out(_core.cast(_core.map_find(map, a, kind, missing)[0], I64, "values"), numpy or numpy_too)
