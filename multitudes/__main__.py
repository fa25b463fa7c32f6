"""``python -m multitudes``: the command line, where no script is on the path."""

from multitudes.cli import main

if __name__ == "__main__":
    main()
