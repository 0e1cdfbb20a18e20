"""A program that never heard of Headway: it computes for a while and exits as it is told.

`--while FILE` keeps it at work until that file is gone.
"""

import os
import signal
import sys
import time
from pathlib import Path

seconds = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 1.0
held = Path(sys.argv[sys.argv.index("--while") + 1]) if "--while" in sys.argv else None
code = int(sys.argv[sys.argv.index("--exit") + 1]) if "--exit" in sys.argv else 0
deadline = time.monotonic() + seconds
print("plain begins", flush=True)
total = 0
while time.monotonic() < deadline or (held and held.exists()):
    total += sum(range(1000))
if "--suicide" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
print("plain ends", flush=True)
sys.exit(code)
