"""The API measured: how fast tasks are taken, that none is lost, that it does what its description says."""
