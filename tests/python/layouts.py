"""Structs and numbers of the C headers, read from the headers: no test types one by hand."""

import ctypes as ct
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
HEADERS = sorted((ROOT / "include").rglob("*.h"))
BINDINGS = sorted((ROOT / "bindings/python/src").glob("*.[ch]"))

_NUMBERS = {"ArrowDeviceType": ct.c_int32} | {
    f"{sign}int{bits}_t": getattr(ct, f"c_{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def text(path):
    """A file without comments."""
    return re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)


def structs(path):
    """The bodies of the structs that a file defines, by name; also those that a typedef names."""
    found = {}
    pattern = r"struct\s+(\w*)\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}\s*(?:CO_\w+\(\d+\)\s*)?(\w*)"
    for name, body, other in re.findall(pattern, text(path)):
        for known in (name, other):
            if known:
                found[known] = body
    return found


def enumerators(name):
    """The numbers of an enum of the headers, or of all that begin with the name."""
    found, last = {}, -1
    for path in HEADERS:
        for body in re.findall(r"enum\s*\w*\s*\{([^{}]*)\}", text(path)):
            for entry in body.split(","):
                label, _, value = entry.partition("=")
                last = int(value, 0) if value.strip()[:1].isdigit() else last + 1
                if label.strip().startswith(name):
                    found[label.strip().removeprefix(name)] = last
            last = -1
    return found


def _field(kind, stars, bodies):
    if stars:
        return ct.c_char_p if kind == "char" else ct.POINTER(ct.c_void_p) if stars > 1 else ct.c_void_p
    return _NUMBERS.get(kind) or structure(kind, bodies)


def fields(name, bodies):
    """(name, type) of each field; those of a struct inside in its place."""
    out = []
    for line in bodies[name].split(";"):
        function = re.fullmatch(r"[\w\s*]*\(\*\s*(\w+)\)\s*\(.*\)", line.strip(), re.DOTALL)
        if function:
            out.append((function[1], ct.c_void_p))
            continue
        parts = re.fullmatch(r"(?:const\s+)?(?:struct\s+)?(\w+)\b(.*)", line.strip(), re.DOTALL)
        for one in parts[2].split(",") if parts else []:
            label, count = re.fullmatch(r"[\s*]*(\w+)(?:\[(\d+)\])?\s*", one).groups()
            if not one.count("*") and parts[1] in bodies:
                out += fields(parts[1], bodies)
                continue
            kind = _field(parts[1], one.count("*"), bodies)
            out.append((label, kind * int(count) if count else kind))
    return out


def structure(name, path):
    """A struct of a file as ctypes has it."""
    bodies = structs(ROOT / path)
    return type(name, (ct.Structure,), {"_fields_": fields(name, bodies)})
