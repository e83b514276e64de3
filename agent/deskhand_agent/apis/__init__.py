"""Models behind an HTTP API: asked with retries, held to rate limits, what they cost counted."""

from deskhand_agent.apis.client import ApiClient, ApiReply, ApiSettings, Nonsense, Usage, whole

__all__ = ["ApiClient", "ApiReply", "ApiSettings", "Nonsense", "Usage", "whole"]
