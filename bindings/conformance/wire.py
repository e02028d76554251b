"""Owns requests to the host: one connection each, paths and bodies as they are written, answers read to their end or left open."""

import http.client
import json

SECONDS = 30
USUAL = {"X-User": "ada", "X-Gate": "open", "X-Requested-With": "conformance", "Accept": "*/*", "Accept-Encoding": "identity"}


class Answer:
    """An answer whose body may still come."""

    def __init__(self, connection, response):
        self._connection, self._response = connection, response
        self.status, self.headers, self.body = response.status, response.getheaders(), b""

    def read(self):
        """Reads the rest."""
        while part := self._response.read1(65536):
            self.body += part
        self.close()
        return self

    def read_until(self, text):
        while text.encode() not in self.body:
            part = self._response.read1(65536)
            if not part:
                raise OSError(f"the answer ended before `{text}`:\n{self.body.decode('utf-8', 'replace')[-2000:]}")
            self.body += part
        return self

    def close(self):
        self._connection.close()


def multipart(fields):
    """The body of a form with files, and its content type."""
    edge, parts = "conformance-edge-7f3a", []
    for field, value in fields.items():
        if isinstance(value, str):
            head, data = f'Content-Disposition: form-data; name="{field}"', value.encode()
        else:
            head = f'Content-Disposition: form-data; name="{field}"; filename="{value["name"]}"\r\nContent-Type: {value["type"]}'
            data = value["text"].encode() if "text" in value else filler(value["size"])
        parts.append(f"--{edge}\r\n{head}\r\n\r\n".encode() + data + b"\r\n")
    return b"".join(parts) + f"--{edge}--\r\n".encode(), f"multipart/form-data; boundary={edge}"


def filler(size):
    """Text of that many bytes, each line another one."""
    lines = b"".join(b"%09d\n" % number for number in range(size // 10 + 1))
    return lines[:size]


def body_of(step):
    """The body of a step and the headers that it needs."""
    if "json" in step:
        told = {**step["json"], "padding": "x" * step["pad"]} if "pad" in step else step["json"]
        return json.dumps(told, ensure_ascii=False).encode(), {"Content-Type": "application/json"}
    if "text" in step:
        return step["text"].encode("utf-8", "surrogateescape"), {"Content-Type": step.get("content_type", "text/plain")}
    if "form" in step:
        data, kind = multipart(step["form"])
        return data, {"Content-Type": kind}
    return None, {}


def send(port, line, step=None):
    """Sends a request; the answer's head is there, its body may still come."""
    method, path = line.split(" ", 1)
    data, headers = body_of(step or {})
    headers = {**USUAL, **headers}
    for name, value in ((step or {}).get("headers") or {}).items():
        known = next((usual for usual in headers if usual.lower() == name.lower()), name)
        headers.pop(known, None)
        if value is not None:
            headers[name] = value
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in headers.items():
            for one in value if isinstance(value, list) else [value]:
                connection.putheader(name, one.encode() if isinstance(one, str) else one)
        if data is not None:
            connection.putheader("Content-Length", str(len(data)))
        elif method in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", "0")
        connection.endheaders()
        try:
            if data:
                connection.send(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # It was refused before its end: the answer is there.
        return Answer(connection, connection.getresponse())
    except BaseException:
        connection.close()
        raise
