"""The platform: HTTP API, auth, jobs, rounds and the command line."""
