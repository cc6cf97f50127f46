"""``python -m specmini.training`` trains the tiny pair."""

from specmini.training.command import main

if __name__ == "__main__":
    main()
