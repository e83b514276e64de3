"""An `InferenceEngine` in another process: ours served over HTTP, or an SGLang or vLLM server."""
