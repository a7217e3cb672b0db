"""Two CSV files joined and grouped, and the same by SQL: the answers must be the same.

    python tables.py [FOLDER]          of customers.csv and orders.csv; default: examples/data
"""

import csv
import pathlib
import sqlite3
import sys

import libcohort as lc

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent / "data")


def read(name, numbers):
    with open(folder / f"{name}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return lc.Table({key: [int(r[key]) if key in numbers and r[key] else r[key] or None for r in rows] for key in rows[0]})


customers = read("customers", {"id"})
orders = read("orders", {"order", "customer"})

by_city = (
    lc.join(orders, customers.rename({"id": "customer"}), "customer", validate="m:1")
    .group_by("city", sort=True)
    .agg(orders="size", customers=("customer", "nunique"), first=("order", "min"), item=("item", "max"))
)

base = sqlite3.connect(":memory:")
for name, table in (("customers", customers), ("orders", orders)):
    base.execute(f"CREATE TABLE {name} ({', '.join(map(repr, table.names))})")
    base.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(table.names))})", zip(*table.to_pydict().values()))
query = """SELECT city, count(*), count(DISTINCT customer), min("order"), max(item)
           FROM orders JOIN customers ON customer = id GROUP BY city ORDER BY city IS NULL, city"""
assert list(zip(*by_city.to_pydict().values())) == base.execute(query).fetchall()

for i, row in enumerate([by_city.names, *zip(*by_city.to_pydict().values())]):
    print("  ".join(f"{'none' if v is None else v:<16}" for v in row), "" if i == 0 else "#" * row[1])
print("SQL says the same.")
without = customers.join(orders.rename({"customer": "id"}), "id", how="anti")
print("without an order:", ", ".join(without["name"]))
