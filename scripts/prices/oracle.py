#!/usr/bin/env python3
"""Writes what calls cost according to the package genai-prices, for the test that compares the bundled price table with it.

    oracle.py <the table>

Every model that has a row, and that the package knows, is asked for. The costs are exact, in 10^-12 dollars; where a rate has more than six
digits, which the table has not, the model is named in `rounded` and its costs are cut to whole ones.
"""

import json
import sys
from datetime import datetime, timezone
from importlib.metadata import version

from genai_prices import Usage, calc_price
from genai_prices.data import providers

from make import VENDORS

# Prompt, of it read from a cache, of it written to one, completion. The sizes stand on both sides of every tier.
AMOUNTS = [
    (1000, 0, 0, 500), (77777, 33333, 0, 11111), (9999, 1, 9000, 77), (100001, 50000, 1000, 10), (128001, 1, 0, 10), (200000, 0, 0, 10),
    (200001, 100000, 0, 10), (272000, 0, 0, 10), (272001, 272001, 0, 10), (999999, 250000, 100000, 65536),
]
HOUR = 12


def cost(provider, model, at, amount):
    prompt, cached, written, completion = amount
    usage = Usage(input_tokens=prompt, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=completion)
    total = calc_price(usage, model, provider_id=provider, genai_request_timestamp=at).total_price
    return total * 10**12


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        table = json.load(file)
    package = {provider.id: provider for provider in providers}
    asked, unknown, rounded = [], [], []
    for row in table["models"]:
        theirs = VENDORS.get(row["provider"], (None,))[0]
        name = row["model"].replace("*", "x")
        if theirs is None:
            continue
        if row["model"].endswith("*") and package[theirs].find_model(name) is None:
            name = row["model"].rstrip("*")
        at = datetime.fromisoformat(row.get("from", table["updated"])).replace(hour=HOUR, tzinfo=timezone.utc)
        if package[theirs].find_model(name) is None:
            unknown.append(f"{row['provider']}/{row['model']}")
            continue
        costs = [cost(theirs, name, at, amount) for amount in AMOUNTS]
        if any(exact != int(exact) for exact in costs):
            rounded.append(f"{row['provider']}/{name}")
        asked.append([row["provider"], name, int(at.timestamp() * 1000), [int(exact) for exact in costs]])
    head = {"made_by": "scripts/prices/oracle.py", "package": f"genai-prices {version('genai-prices')}"}
    head |= {"amounts": AMOUNTS, "not_known_to_it": len(unknown), "rounded": rounded}
    lines = [f'"{name}":{json.dumps(value, separators=(",", ":"))}' for name, value in head.items()]
    answers = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in asked)
    sys.stdout.write("{\n" + ",\n".join(lines) + ',\n"answers":[\n' + answers + "\n]}\n")


if __name__ == "__main__":
    main()
