"""A gateway that answers what a test tells it to, over HTTP/1.1 on a Unix socket and on a loopback
port.

    with ScriptedGateway(folder) as gateway:
        gateway.answer("GET", "/v1/admin/tools", {"tools": []})
        subprocess.run([crab, "tools", "list", "--socket", gateway.socket])
        gateway.requests  # [("GET", "/v1/admin/tools", None)]
"""
import json
import os
import socketserver
import threading
from http.server import BaseHTTPRequestHandler


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 16


class _TcpServer(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "unix"

    def log_message(self, *_):
        pass

    def _serve(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        gateway = self.server.gateway
        with gateway.changed:
            gateway.requests.append((self.command, self.path, body))
            gateway.headers.append(dict(self.headers))
            gateway.changed.notify_all()
        status, answer = gateway.answers.get(
            (self.command, self.path), (404, {"error": "no such path", "code": "NOT_FOUND"})
        )
        if callable(answer):
            answer = answer(body)
        if isinstance(answer, list):
            return self._stream(answer)
        text = json.dumps(answer).encode() if not isinstance(answer, bytes) else answer
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _stream(self, events):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for name, data in events:
            event = f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = do_DELETE = _serve


class ScriptedGateway:
    """`requests` holds (method, path, body) of everything that came; answers are JSON values,
    callables of the body, or a list of (event, data) for an event stream."""

    def __init__(self, folder: str):
        self.socket = os.path.join(folder, "admin.sock")
        self.answers, self.requests, self.headers = {}, [], []
        self.changed = threading.Condition()

    def answer(self, method: str, path: str, answer, status: int = 200):
        self.answers[(method, path)] = (status, answer)

    def wait_for(self, path: str, timeout: float = 20):
        """The body of the first request to `path`, waiting for it."""
        with self.changed:
            assert self.changed.wait_for(
                lambda: any(r[1] == path for r in self.requests), timeout
            ), f"nobody asked for {path}"
            return next(r[2] for r in self.requests if r[1] == path)

    def __enter__(self):
        self._servers = [_Server(self.socket, _Handler), _TcpServer(("127.0.0.1", 0), _Handler)]
        self.url = "http://127.0.0.1:%d" % self._servers[1].server_address[1]
        for server in self._servers:
            server.gateway = self
            threading.Thread(
                target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
            ).start()
        return self

    def __exit__(self, *_):
        for server in self._servers:
            server.shutdown()
            server.server_close()
