"""Writes a program that prints what exported classes of Rust return: rust_main.py FILES"""

import json
import sys

files = sys.argv[1]
index = json.load(open(f"{files}/index.json"))
lines = [f"use studio::{{StudioAgent, StudioTool, StudioWorkflow, serde_json}};\n"]
prints = []
paths = [entry["path"] for entry in index["classes"]] + [index["skeleton"]]
for at, path in enumerate(paths):
    lines.append(f'#[path = "{files}/{path}"]\nmod m{at};\n')
for at, entry in enumerate(index["classes"]):
    contract = f"Studio{entry['kind'].capitalize()}"
    prints.append(f'    all.insert("{entry["full"]}".to_owned(), <m{at}::{entry["class"]} as {contract}>::definition());\n')
lines.append("\nfn main() {\n    let mut all = serde_json::Map::new();\n" + "".join(prints) + '    println!("{}", serde_json::Value::Object(all));\n}\n')
print("".join(lines), end="")
