"""Every public name has a docstring with an example. That the examples are right, doctests.py says."""

import inspect

import pytest

import libcohort as lc


def documented():
    """(name, docstring) of what the package offers: functions, classes, and the classes' methods and
    properties. Exceptions need no example."""
    for name in lc.__all__:
        thing = getattr(lc, name)
        if inspect.isclass(thing) and issubclass(thing, BaseException):
            continue
        yield name, thing.__doc__
        for inner, value in vars(thing).items() if inspect.isclass(thing) and name != "Partition" else ():
            kind = getattr(value, "fget", None) or getattr(value, "__func__", value)
            if not inner.startswith("_") and (inspect.isroutine(kind) or isinstance(value, property)):
                yield f"{name}.{inner}", kind.__doc__


def test_the_names_are_found():
    names = [name for name, _ in documented()]
    assert len(names) > 100
    for due in ("Map.insert", "Map.load", "MultiMap.insert", "Table.shape", "Set.min", "Array.tolist", "join"):
        assert due in names


@pytest.mark.parametrize("name, text", documented(), ids=[name for name, _ in documented()])
def test_it_has_an_example(name, text):
    assert text and ">>> " in text, name


@pytest.mark.parametrize("name", [n for n in lc.__all__ if n.endswith("Error")])
def test_an_exception_says_when_it_comes(name):
    assert len(getattr(lc, name).__doc__) > 20
