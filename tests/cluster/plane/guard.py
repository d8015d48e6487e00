"""Run a command for as long as the process that started us: when our standard input ends, the command ends.

A pipe closes even when its owner is killed, so a crash leaves nothing behind.
"""

import os
import signal
import subprocess
import sys
import threading

PATIENCE = 5.0


def main() -> int:
    with subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL) as child:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Not before: the command would ignore it too.
        threading.Thread(target=_end_with_owner, args=(child,), daemon=True).start()
        return child.wait()


def _end_with_owner(child: subprocess.Popen[bytes]) -> None:
    while os.read(0, 4096):
        pass
    child.terminate()
    try:
        child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(main())
