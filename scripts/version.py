#!/usr/bin/env python3
"""One version for the library and all packages: `Cargo.toml` has it, and the manifests of the packages repeat it.

    scripts/version.py           # says the version
    scripts/version.py 0.2.0     # writes it everywhere, and remakes what is generated from it
    scripts/version.py --check   # says which file has another one
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NUMBER = r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?"
# Where the version stands: the text before it and behind it. Each has to be found.
CARGO = [(r'^version = "', '"')]
LOCK = [(r'^name = "wfstudio"\nversion = "', '"')]
NPM = [(r'^  "version": "', '"')]
NPM_LOCK = [*NPM, (r'^  "packages": \{\n    "": \{\n(?:      .*\n)*?      "version": "', '"')]
POM = [(r"<artifactId>wfstudio-jvm</artifactId>\n *<version>", "<")]
CSPROJ = [(r"<Version>", "<")]
PLACES = {
    "Cargo.toml": CARGO,
    "Cargo.lock": LOCK,
    "docs/openapi.json": [(r'^    "version": "', '"')],
    "ui/package.json": NPM,
    "ui/package-lock.json": NPM_LOCK,
    "bindings/client/package.json": NPM,
    "bindings/client/package-lock.json": NPM_LOCK,
    "bindings/node/package.json": [*NPM, (r'"@wfstudio/lib-[\w-]+": "', '"')],
    "bindings/node/package-lock.json": [*NPM_LOCK, (r'"@wfstudio/lib-[\w-]+": "', '"'), (r'^      "name": "@wfstudio/lib-[\w-]+",\n      "version": "', '"')],
    "bindings/node/lib-linux-x64/package.json": NPM,
    "bindings/go/go.mod": [(r"github\.com/wfstudio/wfstudio-go/lib/\w+ v", "\n")],
    "bindings/csharp/WfStudio/WfStudio.csproj": CSPROJ,
    "bindings/csharp/WfStudio.AspNetCore/WfStudio.AspNetCore.csproj": CSPROJ,
    "bindings/jvm/pom.xml": POM,
    "bindings/jvm/core/pom.xml": POM,
    "bindings/jvm/native/pom.xml": POM,
    "bindings/jvm/servlet/pom.xml": POM,
    "bindings/jvm/spring-boot-starter/pom.xml": POM,
    "bindings/kotlin/pom.xml": POM,
    "bindings/jvm/README.md": [(r"<artifactId>wfstudio-[\w-]+</artifactId><version>", "<")],
    "bindings/kotlin/README.md": [(r"`io\.wfstudio:wfstudio-kotlin:", "`")],
}
# Manifests that have no version, or take it from a file that is generated.
WITHOUT = {"bindings/php/composer.json", "bindings/python/pyproject.toml", "bindings/ruby/wfstudio.gemspec", "bindings/swift/Package.swift", "bindings/go/lib/linux_amd64/go.mod"}
MANIFESTS = {"package.json", "package-lock.json", "pom.xml", "pyproject.toml", "composer.json", "go.mod", "Package.swift"}


def version():
    return re.search(rf'^version = "({NUMBER})"', (ROOT / "Cargo.toml").read_text(), re.M).group(1)


def pattern(before, behind):
    return re.compile(f"({before})({NUMBER})(?={re.escape(behind)})", re.M)


def wrong(wanted):
    """Files that have another version, or none."""
    for name, places in PLACES.items():
        text = (ROOT / name).read_text()
        for place in places:
            found = {match.group(2) for match in pattern(*place).finditer(text)}
            if found != {wanted}:
                yield f"{name} has {', '.join(sorted(found)) or 'no version where one is expected'}, the library is {wanted}: run `make version TO={wanted}`"
    listed = subprocess.run(["git", "ls-files", "bindings"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    for name in listed:
        known = name in PLACES or name in WITHOUT
        if not known and (pathlib.Path(name).name in MANIFESTS or name.endswith((".csproj", ".gemspec"))):
            yield f"{name} is a manifest that scripts/version.py does not know"


def write(wanted):
    if not re.fullmatch(NUMBER, wanted):
        sys.exit(f"`{wanted}` is no version; a version is three numbers, such as 0.2.0")
    # Every place is looked at before the first file is written.
    made = {}
    for name, places in PLACES.items():
        text = (ROOT / name).read_text()
        for place in places:
            text, count = pattern(*place).subn(rf"\g<1>{wanted}", text)
            if not count:
                sys.exit(f"{name} has no version where one is expected; nothing was written")
        made[name] = text
    for name, text in made.items():
        (ROOT / name).write_text(text)
    subprocess.run([ROOT / "bindings/generate/all"], check=True)


def main():
    given = sys.argv[1:]
    if given and given != ["--check"]:
        write(given[0])
    found = list(wrong(version()))
    if found:
        sys.exit("\n".join(found))
    if given != ["--check"]:
        print(version())


if __name__ == "__main__":
    main()
