"""Writes one NuGet package: nuget.py <file> <id> <version> <description> <name in it>=<file>… [--needs <package of the same version>]."""

import os
import pathlib
import sys
import time
import zipfile
from xml.sax.saxutils import escape

TIME = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", "1")), 315532800))  # zip begins in 1980


def main(path, name, version, description, *rest):
    needs = rest[rest.index("--needs") + 1 :] if "--needs" in rest else []
    files = dict(one.split("=", 1) for one in rest[: len(rest) - len(needs) - bool(needs)])
    dependencies = "".join(f'<dependency id="{need}" version="[{version}]" />' for need in needs)
    nuspec = f"""<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata>
    <id>{name}</id>
    <version>{version}</version>
    <authors>Workflow Studio</authors>
    <license type="expression">MIT</license>
    <readme>README.md</readme>
    <description>{escape(description)}</description>
    <dependencies>{f'<group targetFramework=".NETFramework4.7.2">{dependencies}</group>' if needs else ""}</dependencies>
  </metadata>
</package>
"""
    kinds = {pathlib.PurePath(one).suffix[1:] for one in files} | {"rels", "nuspec"}
    types = "".join(f'<Default Extension="{kind}" ContentType="application/{"vnd.openxmlformats-package.relationships+xml" if kind == "rels" else "octet"}" />' for kind in sorted(kinds))
    parts = {
        "[Content_Types].xml": f'<?xml version="1.0" encoding="utf-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{types}</Types>',
        "_rels/.rels": '<?xml version="1.0" encoding="utf-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/{name}.nuspec" Id="R1" /></Relationships>',
        f"{name}.nuspec": nuspec,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in [*parts.items(), *((part, pathlib.Path(file).read_bytes()) for part, file in sorted(files.items()))]:
            entry = zipfile.ZipInfo(part, TIME[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


main(*sys.argv[1:])
