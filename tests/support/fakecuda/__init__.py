"""A double of the CUDA driver whose device memory the host cannot touch, and whose streams run only when waited for.

    out = fakecuda.run_clean(SNIPPET, model="jetson", devices=1, fail="cuMemcpyDtoHAsync:719")
    assert fakecuda.outcome("from support.fakecuda import fake; ...") == "device memory"    # what the child died of

Each snippet runs in a process of its own, in which the double is loaded before anything else and not initialised; in it
`from support.fakecuda import fake` is a thin wrapper of the driver. README.md in this folder has the rest.
"""

import os

CHOSEN = "LEND_FAKECUDA"  # where a child finds the double
_FIRST = "import support.fakecuda.fake\n"
_REPORT, _END = "fakecuda: the host touched ", " at 0x"


def library(hip=0):
    """Path of the compiled double; `hip=6`: of that release of HIP, "cupy": of the one that an installed CuPy wants.

    Skips the test where there can be none.
    """
    from . import building  # not above: children import this file, and are many

    reason = building.missing()
    if reason:
        import pytest

        pytest.skip(reason)
    if hip == "cupy":
        from . import for_cupy

        return for_cupy.built()
    return building.hip(hip) if hip else building.driver()


def run(snippet, model="discrete", devices=2, *, hip=0, load=True, args=(), options=(), env=None, **knobs):
    """Run `snippet` with the double loaded (`load=False`: only on the search path), and say how it ended.

    Knobs are those of README.md without their prefix: `fail=`, `device_host_access=1`, `eager=True`, ...
    """
    import textwrap

    from support import children

    path = library(hip)
    if knobs.pop("eager", False):
        knobs["async"] = "eager"
    chosen = {
        f"FAKECUDA_{name.upper()}": str(value) for name, value in knobs.items() if not name.startswith("fakehip_")
    }
    chosen |= {name.upper(): str(value) for name, value in knobs.items() if name.startswith("fakehip_")}
    searched = os.pathsep.join(filter(None, [str(path.parent), os.environ.get("LD_LIBRARY_PATH")]))
    chosen |= {"FAKECUDA_MODEL": model, "FAKECUDA_DEVICES": str(devices), CHOSEN: str(path)}
    chosen |= {"LD_LIBRARY_PATH": searched, **(env or {})}
    whole = (_FIRST if load else "") + textwrap.dedent(snippet)
    return children.run(whole, args=args, options=options, env=chosen)


def run_clean(snippet, model="discrete", devices=2, **keywords):
    """Run `snippet` and give back what it printed; anything but exit status 0 and a silent stderr fails the test."""
    result = run(snippet, model, devices, **keywords)
    assert result.rc == 0, f"exit status {result.rc}\n{result.out}{result.err}"
    assert result.err == "", result.err
    return result.out


def outcome(snippet, model="discrete", devices=2, **keywords):
    """What `snippet` printed, without the last line's end; or what it touched, if it died of that.

    That is "device memory", "managed memory while work was pending" or "freed pinned memory": a crash of another kind,
    or an error, fails the test.
    """
    result = run(snippet, model, devices, **keywords)
    told = [line for line in result.err.splitlines() if line.startswith(_REPORT)]
    if result.rc and told:  # by SIGSEGV; under a sanitizer by its exit
        return told[-1][len(_REPORT) :].partition(_END)[0]
    assert result.rc == 0, f"exit status {result.rc}\n{result.out}{result.err}"
    return result.out.rstrip("\n")
