"""Runs the examples in the docstrings of the installed package."""

import doctest
import importlib
import pkgutil
import sys

import libcohort

names = ["libcohort"] + ["libcohort." + m.name for m in pkgutil.iter_modules(libcohort.__path__)]
results = [doctest.testmod(importlib.import_module(name)) for name in names]
print(sum(r.attempted for r in results), "examples")
sys.exit(any(r.failed for r in results) or not sum(r.attempted for r in results) > 30)
