"""`python -m deskhand_platform.api.openapi` prints the API's description, for client generators."""

from __future__ import annotations

import json
import sys

from deskhand_platform.api.app import create_app


def main() -> None:
    """Print the description."""
    json.dump(create_app().openapi(), sys.stdout, indent=2, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
