"""More computation at test time for a better reply, and nothing trained: samples, checks, a closer look."""
