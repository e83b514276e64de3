"""An MCP server of the standard library alone, for where nothing else is installed."""

import json
import os
import sys
from pathlib import Path

TOOL = {
    "name": "look",
    "description": "What is in the home.",
    "inputSchema": {"type": "object", "properties": {"end": {"type": "boolean"}}},
}


def answer(method: str, params: dict) -> dict | None:
    if method == "initialize":
        told = {"name": "plain", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": told,
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        if params.get("arguments", {}).get("end"):
            os._exit(0)
        names = sorted(each.name for each in Path.cwd().iterdir() if not each.name.startswith("."))
        text = f"{os.environ.get('GREETING')} {' '.join(names)} {len(json.dumps(params))}"
        return {"content": [{"type": "text", "text": text}]}
    return None


for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = answer(asked["method"], asked.get("params", {}))
    told = {"result": result} if result else {"error": {"code": -32601, "message": "no such method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **told}), flush=True)
