#!/usr/bin/env python3
"""Writes the price table that the studio bundles, from the package genai-prices and from LiteLLM's list of models.

    make.py <date> <LiteLLM's model_prices_and_context_window_backup.json>

What genai-prices knows wins, LiteLLM's list adds what it does not know, and the rows of the contract win over both. The same packages
and date give the same bytes. Rates that a call's token counts cannot tell apart are left out: audio and images that come in, hours, searches,
one-hour cache writes, batches; so are models whose answers are no text, but rerankers. A rate that changes with the hour is as it is for most of the day.
"""

import json
import re
import sys
from collections import Counter
from datetime import datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal
from importlib.metadata import version

from genai_prices.data import providers

# What the studio calls a provider; what genai-prices calls it; the provider and the beginning of its keys in LiteLLM's list.
VENDORS = {
    "openai": ("openai", ("openai", "text-completion-openai"), ""),
    "anthropic": ("anthropic", ("anthropic",), ""),
    "gemini": ("google", ("gemini",), "gemini/"),
    "mistral": ("mistral", ("mistral",), "mistral/"),
    "cohere": ("cohere", ("cohere", "cohere_chat"), ""),
    "deepseek": ("deepseek", ("deepseek",), "deepseek/"),
    "xai": ("x-ai", ("xai",), "xai/"),
    "groq": ("groq", ("groq",), "groq/"),
    "openrouter": ("openrouter", ("openrouter",), "openrouter/"),
    "azure-openai": ("azure", ("azure",), "azure/"),
    "voyage": ("voyageai", ("voyage",), "voyage/"),
}
# Vendors that are read from LiteLLM's list alone: the providers and the beginning of their keys there, and which of their names are models.
LISTED = {
    "bedrock": (("bedrock", "bedrock_converse"), "", r"(?!ai21|meta\.llama2|cohere\.command-(text|light))[a-z0-9-]+\.[^/]+"),
    "cerebras": (("cerebras",), "cerebras/", r"[^/]+"),
    "perplexity": (("perplexity",), "perplexity/", r"sonar.*"),
    "moonshot": (("moonshot",), "moonshot/", r"[^/]+"),
    "zai": (("zai",), "zai/", r"[^/]+"),
}
# Rerankers, from LiteLLM's list alone: the provider and the beginning of its keys there, and whether it bills searches.
RERANKERS = {"cohere": ("cohere", "", True), "voyage": ("voyage", "voyage/", False), "jina": ("jina_ai", "", False)}
# What stands before a model of Bedrock that is asked in several regions.
REGIONS = re.compile(r"(us-gov|us|eu|apac|au|jp|ca|global)\.")
MODES = {"chat", "responses", "completion", "embedding"}
# Answers that are no text.
SPOKEN = re.compile(r"image|tts|live|audio|realtime|transcribe|whisper|speech|voice|dall-e|sora|veo|lyria|moderation|rerank|ocr|nano-banana|omni-")
# Of a marketplace: its makers that are asked for most, and not its names for a day, nor those with other prices for the same.
MAKERS = {
    "amazon", "anthropic", "cohere", "deepseek", "google", "meta", "meta-llama", "microsoft", "minimax", "mistralai", "moonshotai",
    "nousresearch", "nvidia", "openai", "perplexity", "qwen", "x-ai", "z-ai",
}
OTHER_NAMES = re.compile(r":batch$|:beta$|-\d{8}(:|$)|-\d{4}-\d{2}-\d{2}(:|$)|-\d{2}-\d{2}(:|$)")
# Rows that the contract names: these rates are not looked up.
FIXED = {
    ("openai", "gpt-4o-mini"): {"input": "0.15", "output": "0.60", "cached_input": "0.075"},
    ("openai", "gpt-4o"): {"input": "2.50", "output": "10", "cached_input": "1.25"},
    ("openai", "gpt-4-turbo"): {"input": "10", "output": "30"},
    ("openai", "text-embedding-3-small"): {"input": "0.02", "output": "0"},
    ("openai", "text-embedding-3-large"): {"input": "0.13", "output": "0"},
    ("anthropic", "claude-sonnet-4-20250514"): {"input": "3", "output": "15", "cached_input": "0.30", "cache_write": "3.75"},
    ("anthropic", "claude-3-5-sonnet-20241022"): {"input": "3", "output": "15", "cached_input": "0.30", "cache_write": "3.75"},
    ("gemini", "gemini-3.5-flash"): {"input": "1.50", "output": "9"},
    ("gemini", "gemini-3.1-pro-preview*"): {"input": "2", "output": "12"},
    ("gemini", "gemini-3-flash-preview"): {"input": "0.50", "output": "3"},
    ("gemini", "gemini-3.1-flash-lite"): {"input": "0.25", "output": "1.50"},
    ("gemini", "gemini-2.5-pro"): {"input": "1.25", "output": "10"},
    ("gemini", "gemini-2.5-flash"): {"input": "0.30", "output": "2.50"},
    ("gemini", "gemini-2.5-flash-lite"): {"input": "0.10", "output": "0.40"},
}
FREE = ["hash", "ollama", "script"]

RATES = {
    "input": ("input_mtok", "input_cost_per_token"),
    "output": ("output_mtok", "output_cost_per_token"),
    "cached_input": ("cache_read_mtok", "cache_read_input_token_cost"),
    "cache_write": ("cache_write_mtok", "cache_creation_input_token_cost"),
    "reasoning": ("output_reasoning_mtok", "output_cost_per_reasoning_token"),
}
DEFAULTS = {"cached_input": "input", "cache_write": "input", "reasoning": "output"}
MICRO = Decimal("0.000001")


def number(rate):
    """A rate as people write it: `0.60`, `1.25`, `10`."""
    units, fraction = format(Decimal(rate).quantize(MICRO, rounding=ROUND_HALF_UP), "f").split(".")
    fraction = fraction.rstrip("0")
    return f"{units}.{fraction:0<2}" if fraction else units


def whole(rates):
    """All five rates as text; `output` is 0 where nothing is put out."""
    rates.setdefault("output", "0")
    return {name: rates.get(name, rates.get(DEFAULTS.get(name))) for name in RATES}


def short(rates):
    """Without the rates that follow from others."""
    return {name: rate for name, rate in rates.items() if rate != rates.get(DEFAULTS.get(name))}


def priced(base, tiers):
    """A model's rates, and those of its tiers whole; none when it is not priced by tokens."""
    if "input" not in base:
        return None
    base = whole(base)
    above = [(start, whole({**base_given(base, rates), **rates})) for start, rates in sorted(tiers.items())]
    kept, before = [], base
    for start, rates in above:
        if rates != before:
            kept.append((start, rates))
        before = rates
    return base, kept


def base_given(base, rates):
    """What a tier takes from its row: a rate that follows from another follows it into the tier."""
    return {name: rate for name, rate in base.items() if name not in DEFAULTS or rate != base[DEFAULTS[name]] or DEFAULTS[name] not in rates}


def of_package(model, at):
    base, tiers = {}, {}
    prices = model.get_prices(at)
    if getattr(prices, "output_audio_mtok", None) is not None or getattr(prices, "output_image_mtok", None) is not None:
        return None
    for name, (key, _) in RATES.items():
        rate = getattr(prices, key, None)
        if rate is None:
            continue
        base[name] = number(getattr(rate, "base", rate))
        for tier in getattr(rate, "tiers", []):
            tiers.setdefault(tier.start, {})[name] = number(tier.price)
    return priced(base, tiers)


def of_list(entry):
    base, tiers = {}, {}
    if not Decimal(entry.get("input_cost_per_token") or 0):
        return None
    for name, (_, key) in RATES.items():
        if Decimal(entry.get(key) or 0) or (entry.get(key) is not None and name == "output"):
            base[name] = number(Decimal(entry[key]) * 1_000_000)
        for full, rate in entry.items():
            tier = re.fullmatch(key + r"_above_(\d+)k_tokens", full)
            if tier and rate is not None:
                tiers.setdefault(int(tier[1]) * 1000, {})[name] = number(Decimal(rate) * 1_000_000)
    return priced(base, tiers)


def most_of_the_day(model, day):
    hours = Counter()
    for half in range(48):
        price = of_package(model, day + timedelta(minutes=30 * half))
        hours[json.dumps(price)] += 1
    best = max(hours.items(), key=lambda item: item[1])[0]
    base_and_tiers = json.loads(best)
    return base_and_tiers and (base_and_tiers[0], [(start, rates) for start, rates in base_and_tiers[1]])


def history(model, today):
    """What a model costs today and from later days on."""
    days = [today]
    if isinstance(model.prices, list):
        starts = (getattr(price.constraint, "start_date", None) for price in model.prices)
        later = (datetime(day.year, day.month, day.day, tzinfo=timezone.utc) for day in starts if day)
        days += sorted(day for day in later if day > today)
    found = [(day, most_of_the_day(model, day)) for day in days]
    return tuple((day if n else None, price) for n, (day, price) in enumerate(found) if price)


def names_in(clause):
    """Names that a clause matches, whole and as prefixes."""
    for part in getattr(clause, "or_", [clause]):
        if hasattr(part, "equals"):
            yield part.equals, False
        elif hasattr(part, "starts_with"):
            yield part.starts_with, True
        elif hasattr(part, "regex"):
            dated = re.fullmatch(r"\^((?:[\w-]|\\\.)+-)\\d\{[48]\}(?:-\\d\{2\}-\\d\{2\})?\$", part.regex)
            if dated:
                yield dated[1].replace("\\", "") + "2", True
        elif hasattr(part, "and_"):
            yield from ((text, prefix) for inner in part.and_ for text, prefix in names_in(inner) if prefix)


def fits(provider, name):
    if not name or SPOKEN.search(name) or "@" in name or name.startswith(("anthropic.", "us.", "eu.")):
        return False
    if provider == "openrouter":
        return name.split("/")[0] in MAKERS and not OTHER_NAMES.search(name)
    return (provider == "groq" or "/" not in name) and not (provider == "gemini" and "claude" in name)


def listed_names(provider, listed, day):
    """The models of a vendor that is known from the list alone and that still answer, with what the list says of them."""
    keys, beginning, names = LISTED[provider]
    for key, entry in listed.items():
        name = key.removeprefix(beginning)
        answers = entry.get("mode") in MODES and (entry.get("deprecation_date") or "9999") > day
        theirs = entry.get("litellm_provider") in keys and key.startswith(beginning)
        if theirs and answers and re.fullmatch(names, name) and not SPOKEN.search(name):
            yield name, entry


def vendor_of_list(provider, listed, today):
    found = {name: of_list(entry) for name, entry in listed_names(provider, listed, today.date().isoformat())}
    plain = {name: REGIONS.sub("", name, count=1) if provider == "bedrock" else name for name in found}
    return {name: ((None, price),) for name, price in found.items() if price and (plain[name] == name or found.get(plain[name]) != price)}, {}


def look_up(exact, prefixes, name):
    if name in exact:
        return exact[name]
    found = [prefix for prefix in prefixes if name.startswith(prefix)]
    return prefixes[max(found, key=len)] if found else None


def vendor(provider, listed, today):
    """The prices of a provider by name and by prefix."""
    theirs, keys, beginning = VENDORS[provider]
    package = next(known for known in providers if known.id == theirs)
    prefixes, wanted = {}, {}

    def known(name):
        model = package.find_model(name)
        return history(model, today) if model else ()

    names = set()
    for model in package.models:
        for name, is_prefix in names_in(model.match):
            if is_prefix and fits(provider, name) and known(name):
                prefixes[name] = known(name)
            names.add(name)
        names.add(model.id)
    more = {}
    for key, entry in listed.items():
        if entry.get("litellm_provider") in keys and entry.get("mode") in MODES and key.startswith(beginning):
            price = of_list(entry)
            if price:
                more[key.removeprefix(beginning)] = ((None, price),)
    for name in sorted(names | set(more)):
        if fits(provider, name):
            wanted[name] = known(name) or more.get(name, ())
    exact = {}
    for name, price in wanted.items():
        if name.startswith("ft:"):
            prefixes.setdefault(name, price)
        elif price and look_up(exact, prefixes, name) != price:
            exact[name] = price
    for name in sorted(prefixes, key=len, reverse=True):
        rest = {prefix: price for prefix, price in prefixes.items() if prefix != name}
        if look_up({}, rest, name) == prefixes[name]:
            del prefixes[name]
    return exact, prefixes


def row(provider, model, start, price, fixed):
    base, tiers = price
    base = {**base, **{name: number(rate) for name, rate in (fixed or {}).items()}}
    told = {"provider": provider, "model": model}
    if model.endswith("*"):
        told["match"] = "prefix"
    told |= short(base)
    if tiers:
        told["tiers"] = [{"above_prompt_tokens": above, **short(rates)} for above, rates in tiers]
    if start:
        told["from"] = start.date().isoformat()
    return told


def rows_of(provider, listed, today):
    exact, prefixes = vendor_of_list(provider, listed, today) if provider in LISTED else vendor(provider, listed, today)
    named = {**exact, **{name + "*": price for name, price in prefixes.items()}}
    for (theirs, model), rates in FIXED.items():
        if theirs == provider:
            known = named.get(model) or look_up(exact, prefixes, model.rstrip("*"))
            named[model] = known or ((None, (whole(dict(rates)), [])),)
    found = []
    for model in sorted(named):
        fixed = FIXED.get((provider, model))
        found += [row(provider, model, start, price, fixed if start is None else None) for start, price in named[model]]
    return found


def rerankers(listed, day):
    """What rerankers cost by their tokens; a search counts as one, where searches are what is billed."""
    for provider, (theirs, beginning, searches) in RERANKERS.items():
        for key, entry in sorted(listed.items()):
            answers = entry.get("mode") == "rerank" and (entry.get("deprecation_date") or "9999") > day
            if entry.get("litellm_provider") != theirs or not key.startswith(beginning) or not answers:
                continue
            rate = Decimal(entry.get("input_cost_per_query" if searches else "input_cost_per_token") or 0) * 1_000_000
            if rate:
                yield {"provider": provider, "model": key.removeprefix(beginning), "input": number(rate), "output": "0"}


def main():
    date, list_path = sys.argv[1:]
    today = datetime.fromisoformat(date).replace(tzinfo=timezone.utc)
    with open(list_path, encoding="utf-8") as file:
        listed = json.load(file, parse_float=str, parse_int=str)
    rows = [row for provider in [*VENDORS, *LISTED] for row in rows_of(provider, listed, today)]
    rows += rerankers(listed, date)
    rows += [{"provider": provider, "model": "*", "match": "prefix", "input": "0", "output": "0"} for provider in FREE]
    head = {"version": 1, "currency": "USD", "per_tokens": 1000000, "updated": date}
    sources = f"genai-prices {version('genai-prices')}, LiteLLM's list of models; see NOTICE"
    lines = json.dumps({**head, "made_from": sources}, separators=(",", ":"))[:-1] + ',"models":[\n'
    lines += ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    sys.stdout.write(lines + "\n]}\n")


if __name__ == "__main__":
    main()
