"""Tasks written as YAML: one file holds tasks of one family, or templates that draw theirs from a seed.

```yaml
family: notes
environment: {kind: desktop, settings: {applications: [[xterm]]}}
limits: {turns: 10, seconds: 120}
tasks:
  - name: greet
    description: Write a word into a file.
    instruction: "Write {word} into the file {file} in your home folder."
    parameters: {word: [apple, plum], file: [a.txt, b.txt]}
    verifier: {name: expression, expression: "grep -qx {word} {file}"}
    oracle:
      - TypeText: "echo {word} > {file}\\n"
```
"""

from __future__ import annotations

from deskhand_sandbox.tasks.written.folder import TaskFolder
from deskhand_sandbox.tasks.written.reading import read_tasks
from deskhand_sandbox.tasks.written.template import Template

__all__ = ["TaskFolder", "Template", "read_tasks"]
