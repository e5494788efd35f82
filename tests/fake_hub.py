"""A hub on this machine that serves one model from a folder, as huggingface.co would."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class FakeHub:
    """`refusal`: an X-Error-Code that answers every question, with its status."""

    repo: str
    folder: Path
    refusal: tuple[int, str] | None = None
    asked: list[str] = field(default_factory=list)  # "GET /path"
    address: str = ""


def _listing(folder: Path) -> list[dict[str, object]]:
    return [
        {
            "type": "file",
            "path": file.relative_to(folder).as_posix(),
            "rfilename": file.relative_to(folder).as_posix(),
            "size": file.stat().st_size,
            "oid": hashlib.sha1(file.read_bytes()).hexdigest(),
        }
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    ]


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            hub.asked.append(f"{self.command} {self.path.partition('?')[0]}")
            path = self.path.partition("?")[0]
            api = f"/api/models/{hub.repo}"
            if path == "/":
                self._send(200, b"hello")
            elif hub.refusal is not None:
                self._send(hub.refusal[0], b"", {"X-Error-Code": hub.refusal[1]})
            elif path.startswith(f"{api}/tree/"):
                self._send(200, json.dumps(_listing(hub.folder)).encode())
            elif path in (api, f"{api}/revision/main", f"{api}/revision/{COMMIT}"):
                info = {"id": hub.repo, "sha": COMMIT, "siblings": _listing(hub.folder)}
                self._send(200, json.dumps(info).encode())
            elif path.startswith(f"{api}/revision/"):
                self._send(404, b"", {"X-Error-Code": "RevisionNotFound"})
            elif path.startswith(f"/{hub.repo}/resolve/{COMMIT}/"):
                self._send_file(hub.folder / path.split(f"/resolve/{COMMIT}/")[1])
            else:
                self._send(404, b"", {"X-Error-Code": "RepoNotFound"})

        def do_HEAD(self) -> None:
            self.do_GET()

        def _send_file(self, file: Path) -> None:
            content = file.read_bytes()
            tag = hashlib.sha256(content).hexdigest()
            self._send(200, content, {"X-Repo-Commit": COMMIT, "ETag": f'"{tag}"'})

        def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Stay quiet."""

    return Handler


@contextmanager
def serving(hub: FakeHub) -> Generator[FakeHub]:
    """Serve `hub` on a free port for as long as the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    server.daemon_threads = True
    hub.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
