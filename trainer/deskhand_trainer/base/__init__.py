"""The base model: a small policy that can see, read and point before it has met a task."""
