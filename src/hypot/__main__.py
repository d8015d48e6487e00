"""`python -m hypot` is the command `hypot`."""

from hypot.cli.main import main

if __name__ == "__main__":
    main()
