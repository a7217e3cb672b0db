"""Flights joined with the weather at their airport in their hour, and grouped, and the same by SQL: the answers
must be the same.

    python tables.py [FOLDER]          of flights.csv and weather.csv; default: examples/data
"""

import csv
import pathlib
import sqlite3
import sys

import libcohort as lc

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "data")


def read(name, texts):
    """A file as a table: numbers, but for the columns of texts; an empty field is null."""
    with open(folder / f"{name}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    kind = {key: str if key in texts else float if any("." in r[key] for r in rows) else int for key in rows[0]}
    return lc.Table({key: [kind[key](r[key]) if r[key] else None for r in rows] for key in rows[0]})


flights = read("flights", {"origin", "carrier", "tailnum", "dest"})
weather = read("weather", {"origin"})

hour = ["origin", "day", "hour"]
joined = lc.join(flights, weather, hour, how="left", validate="m:1")
by_warmth = joined.group_by("origin", "temp", sort=True).agg(
    flights="size",
    carriers=("carrier", "nunique"),
    delay=("dep_delay", "sum"),
    latest=("dep_delay", "max"),
)

base = sqlite3.connect(":memory:")
for name, table in (("flights", flights), ("weather", weather)):
    base.execute(f"CREATE TABLE {name} ({', '.join(map(repr, table.names))})")
    marks = ", ".join("?" * len(table.names))
    base.executemany(f"INSERT INTO {name} VALUES ({marks})", zip(*table.to_pydict().values()))
query = """SELECT origin, temp, count(*), count(DISTINCT carrier), sum(dep_delay), max(dep_delay)
           FROM flights LEFT JOIN weather USING (origin, day, hour)
           GROUP BY origin, temp ORDER BY origin, temp IS NULL, temp"""
assert list(zip(*by_warmth.to_pydict().values())) == base.execute(query).fetchall()

for i, row in enumerate([by_warmth.names, *zip(*by_warmth.to_pydict().values())]):
    print("".join(f"{'none' if v is None else v:<10}" for v in row), "" if i == 0 else "#" * row[2])
print("SQL says the same.")
without = lc.join(flights, weather, hour, how="anti")
print(f"{len(without)} of {len(flights)} flights have no weather: all from", ", ".join(lc.unique(without["origin"])))
