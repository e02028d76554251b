#!/usr/bin/env python3
"""Writes what calls cost according to the package genai-prices, for the test that compares the studio with it."""

import json
import sys
from datetime import datetime, timezone
from decimal import ROUND_HALF_UP, Decimal
from importlib.metadata import version

from genai_prices import Usage, calc_price

WHEN = datetime(2026, 11, 20, tzinfo=timezone.utc)
# What the studio calls a provider, what the package calls it, and models that both know.
MODELS = {
    ("openai", "openai"): ["gpt-4o-mini", "gpt-4o", "gpt-4-turbo", "text-embedding-3-small", "text-embedding-3-large"],
    ("anthropic", "anthropic"): ["claude-sonnet-4-20250514", "claude-3-5-sonnet-20241022"],
    ("gemini", "google"): [
        "gemini-3.5-flash", "gemini-3.1-pro-preview", "gemini-3-flash-preview", "gemini-3.1-flash-lite",
        "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite",
    ],
}
# Prompt, read from a cache, written to one, completion.
PLAIN = [(0, 0, 0, 0), (1, 0, 0, 0), (3, 0, 0, 0), (7, 0, 0, 1), (1000, 0, 0, 500), (123457, 0, 0, 7919), (200000, 0, 0, 10)]
CACHED = [(1000, 400, 0, 100), (150001, 149999, 0, 1), (77777, 33333, 0, 11111)]
WRITTEN = [(1000, 400, 300, 100), (9999, 1, 9000, 77)]
LARGE = [(200001, 0, 0, 10), (200001, 100000, 0, 10), (999999, 0, 0, 65536)]


def number(rate):
    return format(Decimal(rate).normalize(), "f")


def base(rate):
    return rate.base if hasattr(rate, "base") else rate


def row(provider, model, rates):
    """The rates of the package as a row of the studio's table."""
    names = {"input": "input_mtok", "output": "output_mtok", "cached_input": "cache_read_mtok", "cache_write": "cache_write_mtok"}
    found = {name: getattr(rates, key) for name, key in names.items() if getattr(rates, key) is not None}
    told = {"provider": provider, "model": model, **{name: number(base(rate)) for name, rate in found.items()}}
    told.setdefault("output", "0")
    tiers = {}
    for name, rate in found.items():
        for tier in getattr(rate, "tiers", []):
            tiers.setdefault(tier.start, {})[name] = number(tier.price)
    if tiers:
        told["tiers"] = [{"above_prompt_tokens": start, **rates} for start, rates in sorted(tiers.items())]
    return told


def cost(provider_id, model, prompt, cached, written, completion):
    usage = Usage(input_tokens=prompt, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=completion)
    return calc_price(usage, model, provider_id=provider_id, genai_request_timestamp=WHEN)


def main():
    rows, cases = [], []
    for (provider, theirs), models in MODELS.items():
        for model in models:
            rates = row(provider, model, cost(theirs, model, 1, 0, 0, 0).model_price)
            rows.append(rates)
            amounts = list(PLAIN)
            amounts += CACHED if "cached_input" in rates else []
            amounts += WRITTEN if "cache_write" in rates else []
            amounts += LARGE
            for prompt, cached, written, completion in amounts:
                if completion and rates["output"] == "0":
                    completion = 0
                total = cost(theirs, model, prompt, cached, written, completion).total_price
                shown = total.quantize(Decimal("0.000001"), rounding=ROUND_HALF_UP)
                cases.append([provider, model, prompt, cached, written, completion, format(shown, "f")])
    head = {"made_by": "scripts/price-oracle.py", "package": f"genai-prices {version('genai-prices')}"}
    lines = [f'"{name}": {json.dumps(value)}' for name, value in head.items()]
    lines += [f'"{name}": [\n{listed(values)}\n]' for name, values in (("rows", rows), ("cases", cases))]
    sys.stdout.write("{\n" + ",\n".join(lines) + "\n}\n")


def listed(values):
    return ",\n".join(json.dumps(value) for value in values)


main()
