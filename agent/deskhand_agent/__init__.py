"""The agent: grammar, prompts, memory, policies and the episode loop."""
