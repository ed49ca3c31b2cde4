"""``python -m propriety``: the demonstration."""

from propriety.demonstration import main

if __name__ == "__main__":
    main()
