// Prints what exported classes return: node run.mjs FILES COMPILED

import { readFileSync } from "node:fs";

const [files, compiled] = process.argv.slice(2);
const index = JSON.parse(readFileSync(`${files}/index.json`, "utf8"));
const all = {};
for (const { path, class: name, full } of index.classes) {
  const module = await import(`${compiled}/${path.replace(/ts$/, "js")}`);
  all[full] = module[name].definition();
}
console.log(JSON.stringify(all));
