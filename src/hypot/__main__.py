"""The command `hypot`, also as `python -m hypot`."""

import atexit
import gc
import os
import sys

from hypot.cli.overview import overview, own_name, width_of_help

# Nearly all objects of a short command stay alive. To look for garbage after every 700 new ones, as Python does by
# itself, and once more at its end, would take a fifth of its time.
NEW_OBJECTS = 100_000


def main() -> None:
    """Run the command line. Its help is printed here: importing the rest would take much longer."""
    gc.set_threshold(NEW_OBJECTS)
    atexit.register(gc.freeze)
    if sys.argv[1:] in (["--help"], ["-h"]) and "_HYPOT_COMPLETE" not in os.environ and _printed():
        return
    from hypot.cli.main import main as run  # noqa: PLC0415

    run()


def _printed() -> bool:
    """Whether the help was written; if it was not, the command line says why."""
    if sys.stdout is None:
        return False
    try:
        sys.stdout.write(f"{overview(own_name(), width_of_help())}\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        return False
    return True


if __name__ == "__main__":
    main()
