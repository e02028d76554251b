"""Writes the Go module, and the one that carries the library, as a module proxy has them: go.py <library> <version> <folder>."""

import gzip
import json
import os
import pathlib
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2] / "bindings/go"
MODULE = "github.com/wfstudio/wfstudio-go"
TIME = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "1")), 315532800))  # zip begins in 1980


def write(folder, module, version, files):
    place = pathlib.Path(folder) / module / "@v"
    place.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(place / f"v{version}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{module}@v{version}/{name}", TIME[:6])
            # What is packed already is only stored.
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(".gz") else zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    (place / f"v{version}.mod").write_bytes(files["go.mod"])
    (place / f"v{version}.info").write_text(json.dumps({"Version": f"v{version}", "Time": time.strftime("%Y-%m-%dT%H:%M:%SZ", TIME)}))
    (place / "list").write_text(f"v{version}\n")


def main(library, version, folder):
    native = {name: (ROOT / "lib/linux_amd64" / name).read_bytes() for name in ("go.mod", "lib.go", "files/README")}
    native["LICENSE"] = licence = (ROOT.parents[1] / "LICENSE").read_bytes()
    native["files/libwfstudio.so.gz"] = gzip.compress(pathlib.Path(library).read_bytes(), 6, mtime=0)
    write(folder, f"{MODULE}/lib/linux_amd64", version, native)
    own = {"LICENSE": licence} | {path.name: path.read_bytes() for path in ROOT.glob("*") if path.is_file() and path.name != "without" and not path.name.endswith("_test.go")}
    # Beside the module there is the one with the library; away from here it comes from where this one came from.
    lines = [line for line in own["go.mod"].decode().splitlines() if not line.startswith("replace ")]
    lines = [line.rsplit(" ", 1)[0] + f" v{version}" if "lib/linux_amd64 v" in line else line for line in lines]
    own["go.mod"] = ("\n".join(lines).strip() + "\n").encode()
    write(folder, MODULE, version, own)


main(*sys.argv[1:])
