"""What a program in C holds by lend.h (`Acquired`), and what it lends by it (`Wrapping`); compiled when imported."""

import pathlib
import tempfile

from .c_modules import compile_module

_source = pathlib.Path(__file__).with_suffix(".c")
with tempfile.TemporaryDirectory() as _folder:
    _compiled = compile_module(_source, "by_lend_h", pathlib.Path(_folder), flags=["-pthread"])

Acquired = _compiled.Acquired
Wrapping = _compiled.Wrapping
wrap = _compiled.wrap
