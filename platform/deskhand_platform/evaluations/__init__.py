"""Success of policies on suites of tasks: what was measured, what is being measured, and which got worse."""
