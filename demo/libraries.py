"""The libraries of the demo: which are here, and in which version. A missing one is skipped."""

import importlib
import os

# module -> what to install to have it
PACKAGES = {
    "numpy": "numpy",
    "torch": "torch",
    "jax": "jax",
    "pyarrow": "pyarrow",
    "PIL": "pillow",
    "tvm_ffi": "apache-tvm-ffi",
}


class Libraries:
    """The modules that could be imported, as attributes; None for each of the others.

    Attributes
    ----------
    versions : list of str
        "numpy 2.4.6" and so on.
    skipped : list of str
        A sentence for each library that is not here.
    """

    def __init__(self, wanted):
        os.environ["JAX_PLATFORMS"] = "cpu"  # before jax starts: the demo is about host memory
        self.versions = []
        self.skipped = []
        for name, package in PACKAGES.items():
            setattr(self, name, self._imported(name, package) if name in wanted else None)
        if self.PIL is not None:
            importlib.import_module("PIL.Image")

    def _imported(self, name, package):
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            missing = isinstance(error, ModuleNotFoundError) and error.name == name
            self.skipped.append(f"{package} is {'not installed' if missing else f'broken ({error})'}: skipped")
            return None
        self.versions.append(f"{package} {module.__version__}")
        return module
