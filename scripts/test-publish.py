#!/usr/bin/env python3
"""Runs the steps that publish, twice, against commands that stand in for the registries: what an attempt left out, the next one does, and no more."""

import io
import json
import os
import pathlib
import subprocess
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKFLOW = (ROOT / ".github/workflows/publish.yml").read_text().splitlines()

# Keeps what is published in $SHOP; the name in $SHOP/fails is refused once.
PUBLISH = """
file=${@: -1}
name=${file##*/}
if [ "$(cat "$SHOP/fails" 2>/dev/null)" = "$name" ]; then rm "$SHOP/fails"; exit 1; fi
[ ! -e "$SHOP/$name" ] || { echo "$name is published already" >&2; exit 1; }
cp "$file" "$SHOP/$name"
echo "$name" >>"$SHOP/told"
"""
STANDS_IN = {
    "npm": """
case $1 in
--version) echo 11.5.1 ;;
view)
    at=${2#@wfstudio/}
    file=$SHOP/wfstudio-${at%@*}-${at##*@}.tgz
    [ -e "$file" ] || exit 1
    echo "sha512-$(openssl dgst -sha512 -binary "$file" | base64 --wrap 0)" ;;
publish)"""
    + PUBLISH
    + ";;\nesac\n",
    "gem": PUBLISH,
    "curl": """
case $* in
*audience=rubygems.org) echo '{"value": "t"}' ;;
*exchange_token) cat >/dev/null; echo '{"rubygems_api_key": "k"}' ;;
*/gems/*) cat "$SHOP/$(basename "${@: -1}")" 2>/dev/null || exit 22 ;;
*) exit 2 ;;
esac
""",
}


def script(wanted: str) -> str:
    """The text of the one step that holds this."""
    found: list[str] = []
    for at, line in enumerate(WORKFLOW):
        if not line.strip().endswith("run: |"):
            continue
        deep = len(line) - len(line.lstrip(" -")) + 2
        text: list[str] = []
        for own in WORKFLOW[at + 1 :]:
            if own.strip() and not own.startswith(" " * deep):
                break
            text.append(own[deep:])
        if wanted in "\n".join(text):
            found.append("\n".join(text))
    assert len(found) == 1, (wanted, len(found))
    return found[0]


def packed(place: pathlib.Path, name: str) -> None:
    """A package of npm, or of Ruby, of which nothing but its name and its bytes are read."""
    if name.endswith(".gem"):
        place.joinpath(name).write_text(name)
        return
    about = json.dumps({"name": "@wfstudio/" + name.removeprefix("wfstudio-").removesuffix("-0.1.0.tgz"), "version": "0.1.0"}).encode()
    with tarfile.open(place / name, "w:gz") as archive:
        member = tarfile.TarInfo("package/package.json")
        member.size = len(about)
        archive.addfile(member, io.BytesIO(about))


def check(kind: str, names: list[str], wanted: str) -> None:
    with tempfile.TemporaryDirectory() as at:
        work = pathlib.Path(at)
        shop, tools = work / "shop", work / "tools"
        tools.joinpath("node/24.0.0/bin").mkdir(parents=True)
        shop.mkdir()
        for name, text in STANDS_IN.items():
            for place in (tools, tools / "node/24.0.0/bin"):
                place.joinpath(name).write_text("#!/usr/bin/env bash\n" + text)
                place.joinpath(name).chmod(0o755)
        for platform in ("linux-x64", "linux-arm64"):
            place = work / f"wfstudio-packages-{platform}" / kind
            place.mkdir(parents=True)
            for name in names:
                packed(place, name)
        environment = {
            **os.environ,
            "PATH": f"{tools}:{os.environ['PATH']}",
            "RUNNER_TOOL_CACHE": str(tools),
            "SHOP": str(shop),
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t",
            "ACTIONS_ID_TOKEN_REQUEST_URL": "https://token.example/?a=b",
        }
        step = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script(wanted)]
        shop.joinpath("fails").write_text(names[-1])
        for code in (False, True, True):
            ran = subprocess.run(step, cwd=work, env=environment, capture_output=True, text=True, check=False)
            assert (ran.returncode == 0) == code, (kind, code, ran.stdout, ran.stderr)
        told = shop.joinpath("told").read_text().split()
        assert told == names, (kind, told)
        # Other bytes under a name that is taken are no success.
        taken = shop / names[0]
        taken.write_bytes(taken.read_bytes() + b"x")
        assert subprocess.run(step, cwd=work, env=environment, capture_output=True, check=False).returncode != 0, kind


check("npm", ["wfstudio-lib-linux-x64-0.1.0.tgz", "wfstudio-client-0.1.0.tgz", "wfstudio-host-0.1.0.tgz"], "npm publish")
check("ruby", ["wfstudio-0.1.0-x86_64-linux.gem", "wfstudio-0.1.0.gem"], "gem push")
assert "--skip-existing" in script("twine upload")
print("what an attempt to publish left out, the next one does")
