"""Lending as a state machine: whatever is taken, made, handed out and given back, in any order and on any thread.

After every step each producer has exactly the loans open that the model of `support.lending` says, everything in hand
reads the right bytes, and read-only memory is still read-only; at the end every loan is back, once.
"""

from .deriving import Deriving
from .devices import OnDevices
from .returning import Returning
from .showing import Showing
from .taking import Taking


class Lending(Taking, Deriving, Showing, OnDevices, Returning):
    """The whole machine; its steps are drawn by `support.drawing`."""


__all__ = ["Lending"]
