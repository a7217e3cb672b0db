"""The examples of examples/python run, and say what they must; each checks itself."""

import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


@pytest.mark.parametrize(
    "name,arguments,said",
    [
        ("unique", ["20000"], "lc.unique(visits)"),
        ("tables", [], "SQL says the same.\n39 of 187 flights have no weather: all from EWR, JFK"),
        ("spectrum", [], "15 times"),
        ("inverted_index", [], "two of 'quick brown dog': [0, 4]"),
        ("permissions", [], "groups [3]: "),
    ],
)
def test_example(tmp_path, name, arguments, said):
    picture = tmp_path / "picture.svg"
    command = [sys.executable, str(FOLDER / f"{name}.py"), *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "SPECTRUM_SVG": str(picture)}
    )
    assert done.returncode == 0 and said in done.stdout, done.stderr
    if name == "spectrum":
        assert len(xml.parse(picture).getroot().findall("{*}rect")) > 20


def test_all_are_run():
    assert {p.stem for p in FOLDER.glob("*.py")} == {
        "unique",
        "tables",
        "spectrum",
        "inverted_index",
        "permissions",
    }
