"""Runs inside the simulated device: puts a program in the foreground of its terminal, and becomes it.

`python foreground.py PROGRAM WORD…`. When a shell ends, it gives the terminal back to the process group it
was started in; the one outside the device has no number inside, and dash fails at that. It imports nothing of
Deskhand.
"""

import os
import signal
import sys


def main() -> None:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
