"""A webhook's receiver: `python receiver.py PORT FILE`; each delivery is a line of FILE.

It answers 500 while `FILE.broken` exists.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FILE = Path(sys.argv[2])


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        broken = Path(f"{FILE}.broken").exists()
        with FILE.open("a") as file:
            file.write(json.dumps({"headers": dict(self.headers), "body": body, "broken": broken}) + "\n")
        self.send_response(500 if broken else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
