"""Writes the Composer archive, and beside it the library that `vendor/bin/wfstudio fetch` takes by its sum: php.py <library> <version> <folder>."""

import hashlib
import json
import os
import pathlib
import platform
import re
import sys
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2] / "bindings/php"
TIME = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "1")), 315532800))  # zip begins in 1980


def main(library, version, folder):
    place = pathlib.Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    if re.search(r"VERSION = '([^']*)'", (ROOT / "src/Abi.php").read_text())[1] != version:
        sys.exit(f"bindings/php/src/Abi.php is not {version}: run bindings/generate/php.py")
    native = pathlib.Path(library).read_bytes()
    target = f"{platform.machine()}-linux-gnu"
    (place / f"{target}-libwfstudio.so").write_bytes(native)
    # An archive says its version itself.
    manifest = {**json.loads((ROOT / "composer.json").read_text()), "version": version}
    files = {"composer.json": json.dumps(manifest, indent=4).encode(), "README.md": (ROOT / "README.md").read_bytes()}
    files |= {str(path.relative_to(ROOT)): path.read_bytes() for part in ("src", "bin") for path in (ROOT / part).rglob("*") if path.is_file()}
    files["LICENSE"] = (ROOT.parents[1] / "LICENSE").read_bytes()
    files["native/SHA256SUMS"] = f"{hashlib.sha256(native).hexdigest()}  {target}/libwfstudio.so\n".encode()
    with zipfile.ZipFile(place / f"wfstudio-{version}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, TIME[:6])
            entry.external_attr = (0o100755 if name.startswith("bin/") else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


main(*sys.argv[1:])
