"""python -m libcohort.bench, with few rows."""

import json
import subprocess
import sys
import types
import xml.etree.ElementTree as xml

import numpy as np
import pytest

import libcohort
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
    ours = [r for r in told["rows"] if "peer" not in r]
    assert {r["name"] for r in ours} >= {"sort", "unique", "is_in", "index_in", "sets: and", "join", "group_by"}
    asked = {r["name"]: set() for r in told["rows"] if r["name"].startswith("question")}
    assert len(asked) == 12 and {"question q10", "question j5"} <= set(asked)
    for row in told["rows"]:
        asked.get(row["name"], set()).add(row.get("peer", {}).get("name"))
    assert all(peers == {None, "polars", "duckdb"} for peers in asked.values())
    assert told["backend"] == "cpu" and told["device"] and told["commit"] and told["date"]
    assert told["command"] == "python -m libcohort.bench --rows 3000 --types int64,float64,string --runs 1"
    assert len(xml.parse(tmp_path / "b.svg").getroot().findall("{*}rect")) == len(told["rows"])
    # What the tool's reader of figures demands, and the room that it has for texts.
    for row in told["rows"]:
        assert 0 < row["least"] <= row["median"] <= row["most"] and row["runs"] == 1 and row["threads"] > 0
        assert len(row["name"]) < 40 and len(row["width"]) < 8 and len(row["variant"].encode()) < 24
    numpy = [r for r in told["rows"] if r.get("peer", {}).get("name") == "numpy"]
    assert numpy and all(r["peer"]["version"] and r["peer"]["machine"] == told["device"] for r in numpy)
    # Each row of others stands beside one of ours.
    place = ("name", "width", "keys", "variant", "n", "threads")
    at = [tuple(r[k] for k in place) for r in ours]
    assert len(set(at)) == len(at) and {tuple(r[k] for k in place) for r in told["rows"]} == set(at)


def test_runs_take_turns_and_the_middle_one_counts():
    done = []

    def call(who):
        return lambda: done.append(who) or 1

    case = ("f", "", {"libcohort": call("libcohort"), "numpy": call("numpy")}, lambda r: r)
    (record,) = bench.measure(iter([case]), 10, "int64", "few", [], 3)
    assert done == ["libcohort", "numpy"] * 4 and [len(s) for s in record["seconds"].values()] == [3, 3]
    record["seconds"] = {"libcohort": [2.0, 1.0, 4.0], "libcohort on a ship": [1.0], "numpy": [8.0, 5.0, 10.0]}
    rows = bench._bench_record.rows([record], {"numpy": "0"})
    assert [(r["median"], r["least"], r["most"], r["variant"]) for r in rows] == [
        (5.0, 2.5, 10.0, ""),
        (10.0, 10.0, 10.0, "on a ship"),
        (1.25, 1.0, 2.0, ""),
    ]
    assert [r.get("peer", {}).get("name") for r in rows] == [None, None, "numpy"]


def test_what_is_slow_runs_once(monkeypatch):
    monkeypatch.setattr(bench, "LONG", -1.0)
    (record,) = bench.measure(iter([("f", "", {"libcohort": lambda: 1}, lambda r: r)]), 10, "int64", "few", [], 3)
    assert len(record["seconds"]["libcohort"]) == 1


def test_a_wrong_answer_has_no_figure_and_is_the_exit_status(monkeypatch, tmp_path, capsys):
    def cases(wrong):
        options = {"libcohort": lambda: [1, 2], "numpy": lambda: [1, wrong], "pandas": lambda: [1, 2]}
        return lambda *_: iter([("sort", "", options, lambda r: r)])

    command = ["--rows", "10", "--types", "int64", "--only", "sort", "--runs", "1"]
    command += ["--json", str(tmp_path / "b.json"), "--svg", str(tmp_path / "b.svg")]
    monkeypatch.setattr(bench, "column_cases", cases(2))
    bench.main(command)
    monkeypatch.setattr(bench, "column_cases", cases(3))
    with pytest.raises(SystemExit, match="other answers than ours.*: numpy in sort, numpy in sort"):
        bench.main(command)
    assert "numpy gives another answer" in capsys.readouterr().out
    rows = json.loads((tmp_path / "b.json").read_text())["rows"]
    assert {r.get("peer", {}).get("name") for r in rows} == {None, "pandas"}


def test_another_answer_to_a_question_is_noticed():
    """A row less, another value, or a value at another key."""
    mods = bench.installed()
    of = bench._bench_questions._answer(("k",), ("v",), mods)
    k, v = np.array([3, 4, 5]), np.array([0.5, 1.5, 2.5])
    right = of(mods["pyarrow"].table({"k": k, "v": v}))
    assert right == [3, 12.0, 4.5, 20.0] == of(mods["polars"].DataFrame({"k": k[::-1], "v": v[::-1]}))
    texts = mods["pyarrow"].array(["id003", "id004", "id005"])
    for keys in texts, texts.dictionary_encode(), mods["polars"].Series(texts), libcohort.Column(texts):
        assert of(libcohort.Table({"k": keys, "v": v})) == right
    for keys, values in (k[:2], v[:2]), (k, v + [0, 0, 0.001]), (k, v[[1, 0, 2]]), (k[[0, 0, 2]], v):
        assert of(mods["pyarrow"].table({"k": keys, "v": values})) != right


def test_every_peer_of_lookups_answers():
    """With keys that are there and keys that are not, and with needles in no order."""
    mods = bench.installed()
    a, b = np.array([5, 9, -3, 5, 7]), np.array([9, 2, 5, 11])
    data = types.SimpleNamespace(a=a, mods=mods)
    forms = {
        "pandas": mods["pandas"].Series(a),
        "polars": mods["polars"].Series(a),
        "pyarrow": mods["pyarrow"].array(a),
    }
    options = bench._indices(data, forms, np, b)
    assert set(options) == {"libcohort", "numpy", "polars", "pandas", "pyarrow"}
    for who, call in options.items():
        assert np.asarray(call()).tolist() == [2, 0, -1, 2, -1], who


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


def test_each_public_call_is_among_the_calls():
    names = " ".join(bench._bench_calls.calls())
    for name in "unique sort argsort factorize value_counts is_in index_in partition histogram compact".split():
        assert name in names
    for name in "join join_size group_by Table( Sets( query rank select rows erase m[key] strings".split():
        assert name in names
    assert "key in m" in names and "MultiMap.insert" in names


def test_calls_on_ten_elements(capsys, monkeypatch, tmp_path):
    """Each call works, and costs microseconds; how few is for a quiet machine to say."""
    monkeypatch.setattr(bench._bench_calls, "_REPEATS", 3)
    bench.main(["--calls", "--json", str(tmp_path / "c.json")])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(bench._bench_calls.calls()) and lines[0].startswith("sort ")
    assert all(float(line.split()[-2]) < 1000 for line in lines)
    told = json.loads((tmp_path / "c.json").read_text())
    assert told["command"] == "python -m libcohort.bench --calls"
    assert [r["name"] for r in told["rows"]] == list(bench._bench_calls.calls())
    assert all(abs(r["extras"]["us"] * r["median"] / 1e6 - 1) < 0.01 for r in told["rows"])
