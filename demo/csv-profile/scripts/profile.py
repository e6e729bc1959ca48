"""Print one line for each column of a CSV file: kind, missing, distinct, smallest, largest."""

import csv
import sys


def kind_of(values: list[str]) -> str:
    try:
        [float(value) for value in values]
    except ValueError:
        return "text"
    return "number"


def main() -> None:
    with open(sys.argv[1], newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    for name in rows[0] if rows else []:
        values = [row[name] for row in rows if row[name]]
        kind = kind_of(values)
        ordered = sorted(values, key=float if kind == "number" else str)
        ends = f"{ordered[0]} .. {ordered[-1]}" if ordered else "-"
        missing = len(rows) - len(values)
        print(f"{name}\t{kind}\tmissing {missing}\tdistinct {len(set(values))}\t{ends}")


if __name__ == "__main__":
    main()
