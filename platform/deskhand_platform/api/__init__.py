"""The HTTP API: pydantic at this edge, dataclasses inside."""
