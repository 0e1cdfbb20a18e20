"""A program that never heard of Headway: it computes for a while and exits as it is told."""

import os
import signal
import sys
import time

seconds = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 1.0
code = int(sys.argv[sys.argv.index("--exit") + 1]) if "--exit" in sys.argv else 0
deadline = time.monotonic() + seconds
print("plain begins", flush=True)
total = 0
while time.monotonic() < deadline:
    total += sum(range(1000))
if "--suicide" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
print("plain ends", flush=True)
sys.exit(code)
