"""python -m libcohort.bench, with few rows."""

import json
import subprocess
import sys
import xml.etree.ElementTree as xml

from libcohort import bench


def test_table_json_and_drawing(tmp_path):
    command = [
        sys.executable,
        "-m",
        "libcohort.bench",
        "--rows",
        "3000",
        "--types",
        "int64,float64,string",
        "--runs",
        "1",
    ]
    command += ["--json", str(tmp_path / "b.json"), "--svg", str(tmp_path / "b.svg")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "another answer" not in done.stdout and "numpy" in done.stdout
    told = json.loads((tmp_path / "b.json").read_text())
    assert {r["operation"] for r in told["records"]} >= {
        "sort",
        "unique",
        "is_in",
        "index_in",
        "sets: and",
        "join",
        "group_by",
    }
    assert all(r["seconds"]["libcohort"] > 0 for r in told["records"]) and told["about"]["backend"] == "cpu"
    assert len(xml.parse(tmp_path / "b.svg").getroot().findall("{*}rect")) == sum(
        len(r["seconds"]) for r in told["records"]
    )


def test_choice():
    command = [
        sys.executable,
        "-m",
        "libcohort.bench",
        "--rows",
        "100",
        "--types",
        "int32",
        "--only",
        "argsort",
    ]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == 3 and all("argsort" in line for line in lines[1:])


def test_calls_on_ten_elements(capsys, monkeypatch):
    """Each call works, and costs microseconds; how few is for a quiet machine to say."""
    monkeypatch.setattr(bench._bench_calls, "_REPEATS", 3)
    bench.main(["--calls"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(bench._bench_calls.calls()) and lines[0].startswith("sort ")
    assert all(float(line.split()[-2]) < 1000 for line in lines)
