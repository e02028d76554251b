#!/usr/bin/env python3
"""Writes the table of models that the studio bundles, from the package genai-prices, LiteLLM's list of models and `facts.json`.

    table.py <date> <LiteLLM's model_prices_and_context_window_backup.json>

LiteLLM's list gives most facts, genai-prices adds names, windows and models that the list does not have. `facts.json` has what neither
knows: what the kinds have in common, models that are gone, and replacements; it wins. Each member is written only where it differs from
what the kind has. The same packages and date give the same bytes.
"""

import json
import pathlib
import re
import sys
from importlib.metadata import version

from genai_prices.data import providers

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "prices"))
from make import LISTED, MAKERS, OTHER_NAMES, REGIONS, SPOKEN, VENDORS, listed_names  # noqa: E402

EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]
# What holds where neither the kind nor the model says anything else.
DEFAULTS = {
    "label": None, "context_window": None, "max_output": None, "usual_output": None, "input": None,
    "output": ["text"], "reasoning": None, "efforts": None, "thinks": False, "sampling": True, "stop": True, "tools": True, "tool_choice": True,
    "parallel_tools": True, "structured": "schema", "structured_with_tools": True, "cache": "none", "deprecated_at": None,
    "retired_at": None, "replacement": None,
}
# Kinds that are other doors to the models of a kind, or have too many to list.
OTHER_DOORS = {"azure-openai", "voyage"}
# Their interfaces have no member that says whether several tools are called at once.
ALWAYS_PARALLEL = {"gemini", "bedrock", "cohere", "ollama"}
# Models that call no tools although the list does not say so.
NO_TOOLS = re.compile(r"(llama|prompt)-guard|deep-research|babbage|davinci|instruct")


def levels(entry):
    """The efforts of a model whose list says which of the unusual ones it takes."""
    if "reasoning_effort_levels" in entry:
        return [effort for effort in EFFORTS if effort in entry["reasoning_effort_levels"]]
    usual = {"low", "medium", "high"}
    return [effort for effort in EFFORTS if effort in usual or entry.get(f"supports_{effort}_reasoning_effort")]


def openai(name, entry, facts):
    if not entry.get("supports_reasoning"):
        return
    facts |= {"reasoning": "effort", "efforts": levels(entry), "sampling": False, "stop": False}
    generation = re.match(r"gpt-5(?:\.(\d))?", name)
    if name.startswith("gpt-5-chat"):
        facts |= {"reasoning": "none", "efforts": [], "sampling": True, "stop": True}
    elif "chat-latest" in name or "deep-research" in name:
        facts |= {"efforts": ["medium"]}
    elif name.startswith("gpt-5-pro"):
        facts |= {"efforts": ["high"]}
    elif generation and "-pro" in name:
        facts |= {"efforts": ["medium", "high", "xhigh"]}
    elif "-codex" in name:
        facts |= {"efforts": [effort for effort in facts["efforts"] if effort not in ("none", "minimal")]}
        if name.startswith("gpt-5.1-codex-max") or name.startswith("gpt-5.2-codex"):
            facts |= {"efforts": ["low", "medium", "high", "xhigh"]}
    if re.match(r"o\d", name):
        facts |= {"parallel_tools": False}


def anthropic(_, entry, facts):
    facts |= {"cache": "marked", "structured": "schema" if entry.get("supports_native_structured_output") else "none"}
    if entry.get("supports_adaptive_thinking"):
        # Every model that thinks adaptively thinks as little as it likes, unless it always thinks.
        always = entry.get("thinking_always_on")
        efforts = [effort for effort in levels(entry) if effort not in ("none", "minimal")]
        facts |= {"reasoning": "always" if always else "adaptive", "efforts": efforts if always else ["none", *efforts]}
    else:
        facts |= {"reasoning": "budget", "efforts": EFFORTS}
    facts |= {"usual_output": min(64_000, facts["max_output"] or 8192)}


def gemini(name, entry, facts):
    if not entry.get("supports_reasoning"):
        facts |= {"reasoning": "none", "efforts": [], "structured_with_tools": False}
    elif name.startswith("gemini-2"):
        efforts = ["low", "medium", "high", "xhigh", "max"]
        facts |= {"reasoning": "budget", "structured_with_tools": False}
        facts |= {"efforts": ["minimal", *efforts] if "-pro" in name else ["none", *efforts]}
    else:
        lowest = "-pro" in name or entry.get("supports_minimal_reasoning_effort") is False
        facts |= {"reasoning": "effort", "efforts": ["low", "medium", "high"] if lowest else ["minimal", "low", "medium", "high"]}


def mistral(_, entry, facts):
    if entry.get("reasoning_effort_levels"):
        facts |= {"reasoning": "effort", "efforts": levels(entry)}
    else:
        facts |= {"reasoning": "always" if entry.get("supports_reasoning") else "none", "efforts": []}


def groq(name, entry, facts):
    facts |= {"structured": "schema" if "gpt-oss" in name else "json"}
    if "gpt-oss" in name:
        facts |= {"reasoning": "effort", "efforts": ["low", "medium", "high"]}
    elif not entry.get("supports_reasoning"):
        facts |= {"reasoning": "none", "efforts": []}


def cohere(_, entry, facts):
    if entry.get("supports_reasoning"):
        facts |= {"reasoning": "adaptive", "efforts": EFFORTS}
    else:
        facts |= {"reasoning": "none", "efforts": []}


def xai(_, entry, facts):
    facts |= {"stop": not entry.get("supports_reasoning")}


def bedrock(name, entry, facts):
    if name.startswith("anthropic."):
        anthropic(name, entry, facts)
    else:
        thinks = "gpt-oss" in name or "nova-2" in name
        facts |= {"reasoning": "effort", "efforts": ["low", "medium", "high"]} if thinks else {"reasoning": "none", "efforts": []}
        facts |= {"structured": "none", "cache": "marked" if "nova" in name and entry.get("supports_prompt_caching") else "none"}


def paints(entry):
    """A model that answers with pictures beside its text."""
    return entry.get("mode") == "image_generation" and {"text", "image"} <= set(entry.get("supported_output_modalities") or [])


def painter(entry, facts):
    """Those of Gemini: of the files they read pictures alone, and how much they think cannot be said."""
    pdf = ["pdf"] if entry.get("supports_pdf_input") else []
    facts |= {"input": ["text", "image", *pdf], "output": ["text", "image"], "structured": "none", "structured_with_tools": False}
    facts |= {"reasoning": "always" if entry.get("supports_reasoning") else "none", "efforts": []}


def plain(_, entry, facts):
    facts |= {} if entry.get("supports_reasoning") else {"reasoning": "none", "efforts": []}


OWN = {"bedrock": bedrock, "cerebras": plain, "perplexity": plain, "moonshot": plain, "zai": plain, "openai": openai, "anthropic": anthropic, "gemini": gemini, "mistral": mistral, "groq": groq, "cohere": cohere, "xai": xai}


def kinds_of_files(kind, entry):
    """The files that a model is shown."""
    told = entry.get("supported_modalities") or []
    found = ["text"]
    found += ["image"] if "image" in told or entry.get("supports_vision") or entry.get("supports_image_input") else []
    found += ["audio"] if "audio" in told or entry.get("supports_audio_input") else []
    found += ["video"] if "video" in told or entry.get("supports_video_input") else []
    pdf = entry.get("supports_pdf_input") or (kind == "gemini" and entry.get("supports_vision"))
    found += ["pdf"] if pdf else []
    return found


def of_list(kind, name, entry):
    facts = {
        "context_window": entry.get("max_input_tokens"), "max_output": entry.get("max_output_tokens"),
        "input": kinds_of_files(kind, entry),
        "tools": not NO_TOOLS.search(name) and entry.get("supports_function_calling") is not False,
        "tool_choice": entry.get("supports_tool_choice") is not False,
        "parallel_tools": entry.get("supports_parallel_function_calling") is not False,
        "sampling": entry.get("supports_sampling_params") is not False,
        "retired_at": entry.get("deprecation_date"),
    }
    if kind in ("openai", "mistral", "xai"):
        facts["structured"] = "schema" if entry.get("supports_response_schema") else "json"
    if kind == "openai" and re.match(r"gpt-4(-0613)?$|gpt-3\.5-turbo-(16k|instruct)|babbage|davinci", name):
        facts["structured"] = "none"
    if kind in OWN:
        OWN[kind](name, entry, facts)
    if kind in ALWAYS_PARALLEL:
        facts["parallel_tools"] = False
    if paints(entry):
        painter(entry, facts)
    return facts


def labels(kind):
    """What people call the models, and what they can read, by the package."""
    theirs = VENDORS.get(kind, (None,))[0]
    return next((known for known in providers if known.id == theirs), None)


def listed(kind, entries, date):
    if kind in LISTED:
        yield from ((name, entry) for name, entry in listed_names(kind, entries, date) if entry.get("mode") == "chat" and not REGIONS.match(name))
        return
    _, keys, beginning = VENDORS[kind]
    for key, entry in entries.items():
        if entry.get("litellm_provider") in keys and key.startswith(beginning):
            name = key.removeprefix(beginning)
            if kind == "gemini" and paints(entry):
                yield name, entry
            if entry.get("mode") not in ("chat", "responses"):
                continue
            plain = kind == "groq" or "/" not in name
            if plain and not SPOKEN.search(name) and not name.startswith("ft:"):
                yield name, entry


def all_of_anthropic(entries, facts, date):
    known = {name: of_list("anthropic", name, entry) for name, entry in listed("anthropic", entries, date)}
    for name, row in facts["models"]["anthropic"].items():
        known[name] = {**facts["kinds"]["anthropic"], **known.get(name, {}), **row}
    return known


def of_claude(name, known):
    """What a model of Anthropic's is at its maker's door, by the longest name there that its name begins with."""
    if not name.startswith("anthropic/claude"):
        return {}
    plain = name.removeprefix("anthropic/").replace(".", "-").split(":")[0]
    parts = plain.split("-")
    for end in range(len(parts), 0, -1):
        begins = "-".join(parts[:end])
        found = next((known[other] for other in sorted(known) if other == begins or other.startswith(begins + "-2")), None)
        if found:
            return {"cache": "marked", "reasoning": found["reasoning"], "sampling": found.get("sampling", True)}
    return {"cache": "marked"}


# The makers of a marketplace whose models are known by a kind of their own, and what stands before their names there.
THEIRS = {
    "anthropic": ("anthropic", ""), "openai": ("openai", ""), "google": ("gemini", ""), "x-ai": ("xai", ""), "mistralai": ("mistral", ""),
    "cohere": ("cohere", ""), "deepseek": ("deepseek", ""), "moonshotai": ("moonshot", ""), "z-ai": ("zai", ""),
    "perplexity": ("perplexity", ""), "amazon": ("bedrock", "amazon-"),
}


def alike(name):
    """A name as a marketplace and a maker both write it."""
    name = re.sub(r":(free|thinking|0)$|-fast$", "", name)
    return re.sub(r"-(001|preview(-\d{2}-\d{4})?|\d{4}-\d{2}-\d{2}|\d{8})$", "", name.replace(".", "-"))


def of_makers(entries, facts, date):
    """What the makers' own kinds know of their models, by maker and name."""
    known = {}
    for maker, (kind, before) in THEIRS.items():
        defaults = {**DEFAULTS, **facts["kinds"].get(kind, {})}
        found = found_in(kind, entries, facts, date)
        # Of names that are alike, the shortest one is that of the model as it is now.
        names = sorted((name for name in found if alike(name).startswith(before)), key=lambda name: (-len(name), name))
        known[maker] = {alike(name).removeprefix(before): {**defaults, **found[name]} for name in names}
    return known


def named(kind, entries, facts, date):
    """Models of a marketplace: names and windows, and what their makers' own kinds say they read, make and call."""
    makers, claude = of_makers(entries, facts, date), all_of_anthropic(entries, facts, date)
    for model in labels(kind).models:
        maker, _, name = model.id.partition("/")
        known = makers.get(maker, {}).get(alike(name))
        paints = known and "image" in known["output"]
        if maker not in MAKERS or OTHER_NAMES.search(model.id) or (SPOKEN.search(model.id) and not paints):
            continue
        row = {"context_window": model.context_window, **of_claude(model.id, claude)}
        if known:
            # The marketplace itself reads PDF files to models that do not.
            row |= {"input": [*(one for one in known["input"] if one != "pdf"), "pdf"], "output": known["output"]}
            row |= {"max_output": known["max_output"], "tools": known["tools"]}
        yield model.id, row


def found_in(kind, entries, facts, date):
    found = dict(named(kind, entries, facts, date)) if kind == "openrouter" else {}
    found |= {name: of_list(kind, name, entry) for name, entry in listed(kind, entries, date)} if kind in [*VENDORS, *LISTED] and kind not in OTHER_DOORS else {}
    for name, row in facts["models"].get(kind, {}).items():
        found[name] = {**found.get(name, {}), **row}
    return found


def rows_of(kind, entries, facts, date):
    defaults = {**DEFAULTS, **facts["kinds"].get(kind, {})}
    package = labels(kind)
    found = found_in(kind, entries, facts, date)
    for name, row in found.items():
        known = package and package.find_model(name)
        if known and known.id == name and known.name and known.name != known.name.lower() and "label" not in row:
            row["label"] = known.name
        if row.get("retired_at") and not row.get("replacement"):
            given = facts["replacements"].get(kind, {})
            undated = re.sub(r"(-\d{4}-\d{2}-\d{2}|-\d{8}|-\d{4}(-preview)?)$", "", name)
            row["replacement"] = given.get(name) or given.get(undated)
    for name in sorted(found):
        # Where the kind says nothing, a model that reads everything is not one of which nothing is known.
        told = {"input"} - facts["kinds"].get(kind, {}).keys()
        shown = {key: value for key, value in found[name].items() if value != defaults[key] or key in told}
        # Names that only begin those of models are no models themselves.
        family = name in facts["families"].get(kind, [])
        yield {"kind": kind, "id": name, **shown, **({"family": True} if family else {})}


def main():
    date, list_path = sys.argv[1:]
    with open(list_path, encoding="utf-8") as file:
        entries = json.load(file)
    facts = json.loads((pathlib.Path(__file__).parent / "facts.json").read_text(encoding="utf-8"))
    kinds = {kind: {key: value for key, value in told.items() if value != DEFAULTS[key]} for kind, told in facts["kinds"].items()}
    rows = [row for kind in [*VENDORS, *LISTED, "ollama"] if kind != "voyage" for row in rows_of(kind, entries, facts, date)]
    sources = f"genai-prices {version('genai-prices')}, LiteLLM's list of models; see ../prices/NOTICE"
    head = {"version": 1, "updated": date, "made_from": sources, "kinds": kinds, "sellers": facts["sellers"]}
    lines = json.dumps(head, separators=(",", ":"))[:-1] + ',"models":[\n'
    lines += ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
    sys.stdout.write(lines + "\n]}\n")


if __name__ == "__main__":
    main()
