"""What the tests of adapters share."""

import pytest

from lend.adapters import pandas_kinds as kinds


@pytest.fixture(params=["blocks", "public"])
def road(request, monkeypatch):
    """The road by the blocks of a frame, and the one that is there without them."""
    if request.param == "public":
        monkeypatch.setattr(kinds, "blocks_of", lambda frame: None)
    return request.param
