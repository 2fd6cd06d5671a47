"""Names for parameters that are the same in every process: those of objects show an address, which never is."""

import re


def plain_repr(value):
    """What shows a parameter, as `ids=`: its repr without addresses."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


def plain_str(value):
    """The same of what is shown by its text."""
    return re.sub(" at 0x[0-9a-f]+", "", str(value))
