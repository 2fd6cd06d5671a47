"""The command line, `lend` and `python -m lend`: one file per command, argparse and the standard library only."""
