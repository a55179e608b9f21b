"""`python -m tiletune`: the program `tune`, where another package has a command of that name."""
from ._command import main

main()
