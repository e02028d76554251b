"""Writes the wheel with the library inside, for every Python from 3.9 on: python.py <library> <version> <folder>."""

import base64
import hashlib
import os
import pathlib
import platform
import re
import subprocess
import sys
import time
import tomllib
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2] / "bindings/python"
TIME = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "1")), 315532800))  # zip begins in 1980


def floor(library):
    """The newest symbols of glibc that the library asks for, such as 2.35."""
    told = subprocess.run(["readelf", "--version-info", "--wide", library], check=True, capture_output=True, text=True).stdout
    return max(tuple(map(int, one.split("."))) for one in re.findall(r"GLIBC_(\d+\.\d+)", told))


def metadata(project, version):
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version}", f"Summary: {project['description']}"]
    lines += [f"Requires-Python: {project['requires-python']}", f"License-Expression: {project['license']}", "License-File: LICENSE", "Description-Content-Type: text/markdown"]
    return "\n".join(lines) + "\n\n" + (ROOT / "README.md").read_text()


def main(library, version, folder):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    if re.search(r'VERSION = "([^"]*)"', (ROOT / "wfstudio/_generated.py").read_text())[1] != version:
        sys.exit(f"bindings/python/wfstudio/_generated.py is not {version}: run bindings/generate/python.py")
    files = {str(path.relative_to(ROOT)): path.read_bytes() for path in (ROOT / "wfstudio").rglob("*") if path.suffix in {".py", ".typed", ".pyi"}}
    files["wfstudio/uniffi/libwfstudio.so"] = pathlib.Path(library).read_bytes()
    tag = f"py3-none-manylinux_{'_'.join(map(str, floor(library)))}_{platform.machine()}"
    about = f"wfstudio-{version}.dist-info"
    files[f"{about}/METADATA"] = metadata(project, version).encode()
    files[f"{about}/licenses/LICENSE"] = (ROOT.parents[1] / "LICENSE").read_bytes()
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: wfstudio\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    sums = {name: base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode() for name, content in files.items()}
    record = [f"{name},sha256={sums[name]},{len(files[name])}" for name in sorted(files)] + [f"{about}/RECORD,,"]
    place = pathlib.Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(place / f"wfstudio-{version}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in [*sorted(files.items()), (f"{about}/RECORD", "\n".join(record).encode() + b"\n")]:
            entry = zipfile.ZipInfo(name, TIME[:6])
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


main(*sys.argv[1:])
