"""Owns the program under test: how it is started, waited for and ended, and the peer that tools of the scenario ask."""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import random
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
READY_SECONDS, END_SECONDS = 60, 10
# How a host is started, by the ending of its file.
BY_ENDING = {".py": sys.executable, ".rb": "ruby", ".js": "node", ".mjs": "node", ".ts": "node", ".php": "php", ".sh": "bash"}


def free_port():
    """A port below those that outgoing connections take, so that nobody comes between this and the host that will listen there."""
    while True:
        port = random.randrange(18000, 30000)
        with socket.socket() as found, contextlib.suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port


class Peer:
    """A server of the runner: it answers what it was asked, so that steps see what the studio sent."""

    def __init__(self):
        class Echo(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                asked = {"method": self.command, "path": self.path, "key": self.headers.get("X-Key") == "key-of-the-peer", "body": self.rfile.read(length).decode()}
                body = json.dumps(asked).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        self.address = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


class Host:
    """What is under test; each `start` is a new process with a new database."""

    def __init__(self, lang, command, framework, keep):
        self.lang, self.framework, self.keep = lang, framework, keep
        self.command = shlex.split(command) if command else self._found()
        self.without = self._without()

    def _found(self):
        if self.lang == "rust":
            target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
            return [str(target / "debug/examples/conformance")]
        folder = self._folder()
        files = sorted(file for file in folder.glob("host.*") if file.suffix in BY_ENDING or os.access(file, os.X_OK))
        if not files:
            sys.exit(f"there is no host in {folder}: `host.*` with one of {', '.join(BY_ENDING)}, or executable; or give --command")
        return [str(files[0])] if os.access(files[0], os.X_OK) else [BY_ENDING[files[0].suffix], str(files[0])]

    def _folder(self):
        """The folder of the binding: of this tree, else of the tree where the runner is started."""
        places = [ROOT / "bindings" / self.lang, pathlib.Path.cwd() / "bindings" / self.lang]
        return next((place for place in places if place.is_dir()), places[0])

    def _without(self):
        """What the language cannot do, and why."""
        file = self._folder() / "without"
        lines = file.read_text().splitlines() if file.exists() else []
        words = {word.strip(): why.strip() for word, _, why in (line.partition(":") for line in lines if line.strip() and not line.startswith("#"))}
        return {word.rpartition("/")[2]: why for word, why in words.items() if "/" not in word or word.partition("/")[0] in (self.framework, os.environ.get("SERVER"))}

    def start(self, **variables):
        return Process(self, variables)


class Process:
    """A host that runs."""

    def __init__(self, host, variables):
        self.host, self.port, self.peer = host, free_port(), Peer()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="conformance-"))
        database = self.folder / "studio.sqlite"
        config = (HERE / "config.json").read_text().replace("{database}", str(database)).replace("{peer}", self.peer.address)
        (self.folder / "config.json").write_text(config)
        self.log = self.folder / "log"
        own = {"PORT": str(self.port), "DATABASE": str(database), "CONFIG": str(self.folder / "config.json"), "LC_ALL": "C.UTF-8", **variables}
        if host.framework:
            own["FRAMEWORK"] = host.framework
        # Nothing of the caller's own studio may reach the host: variables win over its configuration.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("STUDIO_")}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(host.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**kept, **own}, start_new_session=True)
        self._wait()

    def _wait(self):
        until = time.monotonic() + READY_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/own/ping")
                if connection.getresponse().status == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
            time.sleep(0.05)
        tail, code = self.tail(), self.process.poll()
        self.close()
        sys.exit(f"the host did not answer `GET /own/ping` (exit code {code}): {' '.join(self.host.command)}\n{tail}")

    def tail(self, lines=40):
        return "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-lines:])

    def end(self):
        """Asks it to end; its exit code, or what went wrong."""
        if self.process.poll() is None:
            self._signal(signal.SIGTERM)
        return self.wait_for_end()

    def wait_for_end(self):
        try:
            return self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return None

    def _signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass

    def close(self):
        """Ends it in any case; true when it went by itself."""
        went = self.end() is not None
        self._signal(signal.SIGKILL)
        self.process.wait()
        self.peer.close()
        if self.host.keep:
            print(f"# kept: {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        return went
