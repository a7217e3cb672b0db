"""Structs are laid out by the C headers alone, and the numbers of Python's files are the headers'."""

import ast
import ctypes as ct
import re
import subprocess

import layouts
import pytest

from libcohort import _arrays, _collection, _errors, _functions, _gpu, _group, _join, _map, _partition

PYTHON = sorted((layouts.ROOT / "bindings/python/libcohort").glob("*.py*"))
TESTS = sorted((layouts.ROOT / "tests/python").glob("*.py"))


def defined():
    return {name: path for path in layouts.HEADERS for name in layouts.structs(path)}


def typed_in_c(path):
    """Structs of the headers that a file of the bindings defines again."""
    return sorted(set(layouts.structs(path)) & set(defined()))


def typed_in_python(source):
    """What lays out memory by hand: ctypes' structs, the struct module, cffi."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found += [n for n in names if n.split(".")[0] in ("ctypes", "struct", "cffi")]
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "_fields_" for t in node.targets):
            found.append("_fields_")
    return found


def test_the_headers_are_read():
    some = {"ArrowSchema", "ArrowArray", "ArrowDeviceArray", "cohort_sort_desc", "cohort_batch"}
    assert some <= set(defined())
    assert len(defined()) > 30


@pytest.mark.parametrize("path", layouts.BINDINGS, ids=lambda p: p.name)
def test_no_struct_of_the_headers_is_typed_again_in_c(path):
    assert typed_in_c(path) == []


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: p.name)
def test_the_package_lays_out_no_memory(path):
    assert typed_in_python(path.read_text()) == []


@pytest.mark.parametrize("path", TESTS, ids=lambda p: p.name)
def test_no_test_types_fields(path):
    assert "_fields_" not in typed_in_python(path.read_text())


def test_a_struct_that_is_typed_is_found(tmp_path):
    again = tmp_path / "again.c"
    again.write_text("struct ArrowArray {\n    int64_t length;\n};\n")
    assert typed_in_c(again) == ["ArrowArray"]
    again.write_text("typedef struct { uint64_t taken; } cohort_counts;\n")
    assert typed_in_c(again) == ["cohort_counts"]
    by_hand = "import ctypes as ct\nclass A(ct.Structure):\n    _fields_ = []\n"
    assert typed_in_python(by_hand) == ["ctypes", "_fields_"]
    assert typed_in_python("from struct import pack") == ["struct"]


@pytest.mark.parametrize("name", ["ArrowSchema", "ArrowArray", "ArrowDeviceArray"])
def test_what_is_read_from_a_header_is_what_the_compiler_says(name, tmp_path):
    """The sizes and places by which the tests' stand-ins speak."""
    made = layouts.structure(name, "include/cohort/arrow.h")
    flat = [n for n, _ in made._fields_]
    prefix = {n: "" for n in flat}
    if name == "ArrowDeviceArray":
        inner = [n for n, _ in layouts.structure("ArrowArray", "include/cohort/arrow.h")._fields_]
        prefix |= {n: "array." for n in inner}
    places = " ".join(f'printf("%zu ", offsetof(struct {name}, {prefix[n]}{n}));' for n in flat)
    source = tmp_path / "places.c"
    source.write_text(
        "#include <stddef.h>\n#include <stdio.h>\n#include <cohort/arrow.h>\n"
        f'int main(void) {{ {places} printf("%zu", sizeof(struct {name})); }}\n'
    )
    try:
        program = tmp_path / "places"
        subprocess.run(["cc", "-I", layouts.ROOT / "include", "-o", program, source], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler")
    due = [int(x) for x in subprocess.run([program], capture_output=True, check=True).stdout.split()]
    assert [getattr(made, n).offset for n in flat] + [ct.sizeof(made)] == due


# ---- numbers


def test_types_and_widths():
    types = layouts.enumerators("COHORT_")
    assert [types[name] for name in "U8 U16 U32 U64 I8 I16 I32 I64 F32 F64".split()] == list(range(1, 11))
    names = "U8 U16 U32 U64 I8 I16 I32 I64 F32 F64".split()
    assert [getattr(_arrays, name) for name in names] == [types[name] for name in names]
    for name, number in layouts.enumerators("COHORT_WIDTH_").items():
        assert getattr(_functions, f"WIDTH_{name}") == number


def test_operations_of_maps():
    ops = {name.lower(): number for name, number in layouts.enumerators("COHORT_OP_").items()}
    assert _map.OPS == {name: ops[name] for name in _map.OPS}
    assert {n: getattr(_functions, n) for n in ("INSERT", "ASSIGN", "ERASE", "ADD", "COUNT")} == {
        n: ops[n.lower()] for n in ("INSERT", "ASSIGN", "ERASE", "ADD", "COUNT")
    }
    winners = layouts.enumerators("COHORT_WINNER_")
    for name in ("ANY", "FIRST", "LAST"):
        assert getattr(_functions, name) == winners[name]
    assert _map._LAYOUTS == {n.lower(): k for n, k in layouts.enumerators("COHORT_LAYOUT_").items()}


def test_functions_of_keys():
    fn = layouts.enumerators("COHORT_FN_")
    assert _partition._KINDS == {"hash": fn["HASH"], "modulo": fn["MODULO"]}
    assert (_partition._RANGES, _partition._SPLITTERS) == (fn["RANGES"], fn["SPLITTERS"])
    assert _partition._IDS == {1: fn["IDS8"], 2: fn["IDS16"], 4: fn["IDS32"]}
    assert _partition._MEMBER == fn["MEMBER"]


def test_joins_and_groups():
    join = layouts.enumerators("COHORT_JOIN_")
    for name, number in _join._KINDS.items():
        assert number == join[{"outer": "FULL"}.get(name, name.upper())]
    for name, number in _join._SHAPES.items():
        if ":" not in name:
            assert number == join[name.upper()]
    group = layouts.enumerators("COHORT_AGGREGATE_")
    other = {"size": "ROWS", "len": "ROWS", "std": "SD", "n_unique": "NUNIQUE"}
    assert _group._OPS == {name: group[other.get(name, name.upper())] for name in _group._OPS}


def test_collections_of_sets():
    for prefix, names in (
        ("COHORT_FORM_", "MEMBERS RANGES ROARING"),
        ("COHORT_SETS_", "AND OR ANDNOT XOR AT_LEAST"),
        ("COHORT_LOOK_", "CONTAINS RANK SELECT NEXT COUNT MIN MAX"),
    ):
        numbers = layouts.enumerators(prefix)
        for name in names.split():
            assert getattr(_collection, name) == numbers[name], (prefix, name)


CLASSES = {
    "OK": "Error", "NULL": "Argument", "RANGE": "Argument", "OVERFLOW": "Argument", "BAD_STRUCT": "Argument",
    "OTHER_CONTEXT": "Argument", "BAD_POINTER": "Argument", "UNSUPPORTED": "Unsupported", "NO_DEVICE": "Device",
    "NO_MEMORY": "OutOfMemory", "FULL": "Full", "DEVICE_ERROR": "Device", "IO": "File", "TRUNCATED": "Format",
    "BAD_VERSION": "Format", "CORRUPT": "Format", "CANCELLED": "Cancelled",
}  # fmt: skip


def test_a_class_for_each_status():
    """In the order of the enum cohort_status."""
    header = layouts.text(layouts.ROOT / "include/cohort/context.h")
    body = header.split("typedef enum cohort_status {")[1].split("}")[0]
    statuses = [entry.split("=") for entry in body.split(",")]
    assert [int(number) for _, number in statuses] == list(range(len(statuses)))
    names = [name.strip().removeprefix("COHORT_") for name, _ in statuses]
    assert names == list(CLASSES)
    assert [c.__name__ for c in _errors.CLASSES] == [n.removesuffix("Error") + "Error" for n in CLASSES.values()]


def test_device_types():
    """Of Arrow by its header, and of DLPack by dlpack.c: the numbers are the same."""
    for path, pattern in (
        ("include/cohort/arrow.h", r"ARROW_DEVICE_(CUDA|CUDA_MANAGED) +(\d+)"),
        ("bindings/python/src/dlpack.c", r"DLPACK_(CUDA|CUDA_MANAGED) = (\d+)"),
    ):
        found = dict(re.findall(pattern, layouts.text(layouts.ROOT / path)))
        assert found == {"CUDA": str(_gpu._CUDA), "CUDA_MANAGED": str(_gpu._MANAGED)}
