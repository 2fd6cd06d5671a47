"""The consumers of lend.h, compiled in several languages."""

import pathlib
import sys
import sysconfig

import pytest

from support.c_modules import compile_module

HERE = pathlib.Path(__file__).parent
BUILDS = {
    "C99, Limited API": {"flags": ["-std=c99", "-pedantic"]},
    "C11": {"flags": ["-std=c11", "-DFULL_API"]},
    "C++11": {"flags": ["-x", "c++", "-std=c++11", "-Wno-missing-field-initializers"]},
}


@pytest.fixture(scope="session", params=BUILDS)
def consumer(request, tmp_path_factory):
    """The consumer, in one of the languages."""
    if not sysconfig.get_config_var("LDSHARED"):
        pytest.skip(f"no compiler is known for {sys.platform}")
    return compile_module(HERE / "consumer.c", "consumer", tmp_path_factory.mktemp("consumer"), **BUILDS[request.param])
