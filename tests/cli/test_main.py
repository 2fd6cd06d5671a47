"""The command line as a whole: what it prints where, and what its exit codes say."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import lend
from lend.adapters.rules import is_installed
from lend.cli.main import main
from lend.plan import explain


def ends(*arguments):
    """Exit code of a command, however it ends."""
    try:
        return main(arguments)
    except SystemExit as error:
        return error.code


def test_version_is_printed(capsys):
    assert ends("--version") == 0
    assert capsys.readouterr().out == f"lend {lend.__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["explain", "--help"]])
def test_help_shows_examples(capsys, arguments):
    assert ends(*arguments) == 0
    assert "examples:\n  lend explain" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["explain"],
        ["explain", "builtins:b'1234'", "--copy", "maybe"],
        ["explain", "builtins:b'1234'", "--to", "surely_no_target"],
        ["explain", "builtins:b'1234'", "--to", "memoryview", "--device", "surely_no_device"],
        ["doctor", "surely_no_library"],
    ],
)
def test_wrong_command_line_ends_with_2(capsys, arguments):
    assert ends(*arguments) == 2
    assert capsys.readouterr().err.startswith("usage: lend")


def test_plan_is_printed(capsys):
    assert ends("explain", "builtins:b'1234'", "--to", "memoryview") == 0
    assert capsys.readouterr().out == f"{explain(b'1234', 'memoryview')}\n"


def test_plan_is_printed_as_json(capsys):
    assert ends("explain", "builtins:b'1234'", "--to", "memoryview", "--json") == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(explain(b"1234", "memoryview").to_dict()))


def test_without_a_target_it_tells_what_is_possible(capsys):
    assert ends("explain", "builtins:b'1234'", "--json") == 0
    assert json.loads(capsys.readouterr().out)["targets"]["memoryview"] == explain(b"1234").targets["memoryview"]


def test_keywords_reach_the_plan(capsys):
    assert ends("explain", "builtins:b'1234'", "--to", "memoryview", "--copy", "true", "--device", "cpu") == 0
    assert capsys.readouterr().out == f"{explain(b'1234', 'memoryview', copy=True, device='cpu')}\n"


def test_file_is_explained(tmp_path, monkeypatch, capsys):
    numpy = pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    numpy.save("x.npy", numpy.arange(6.0))
    assert ends("explain", "x.npy", "--to", "numpy") == 0
    assert capsys.readouterr().out.startswith(
        "x.npy to numpy.ndarray: shared, nothing is copied\n"
        "  came : float64[6] on cpu, read-only, mapped from x.npy\n"
        "  take : memory map of the file             shared\n"
    )


def test_refusal_ends_with_1_and_tells_why_on_stderr(capsys):
    assert ends("explain", "builtins:[1, 2]", "--to", "memoryview") == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("lend: NotLendable: cannot lend a list")


def test_refusal_is_an_object_on_stdout_when_json_was_asked_for(capsys):
    assert ends("explain", "builtins:[1, 2]", "--to", "memoryview", "--json") == 1
    told = json.loads(capsys.readouterr().out)["refused"]
    with pytest.raises(lend.LendError) as refused:
        explain([1, 2], "memoryview")
    error = refused.value
    assert told == {
        "error": "NotLendable",
        "fact": error.fact,
        "wanted": error.wanted,
        "came": error.came,
        "tried": error.tried,
        "try": error.remedy,
    }


@pytest.mark.parametrize(("source", "code"), [("neither", 3), ("array:nothing", 3)])
def test_what_cannot_be_loaded_is_an_object_as_well(capsys, source, code):
    assert ends("explain", source, "--json") == code
    told = capsys.readouterr()
    assert json.loads(told.out)["refused"]["error"] == "NotLoaded"
    assert json.loads(told.out)["refused"]["fact"] in told.err


@pytest.mark.parametrize("dtype", ["i4", "i4,f4", "U2"])
def test_file_and_expression_of_one_array_end_alike(tmp_path, monkeypatch, dtype):
    numpy = pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    numpy.save("x.npy", numpy.zeros(2, dtype))
    assert ends("explain", "x.npy") == ends("explain", f"numpy:zeros(2, {dtype!r})") == 0


def test_refused_file_is_named_and_not_its_map(tmp_path, monkeypatch, capsys):
    numpy = pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    numpy.save("x.npy", numpy.arange(3))
    assert ends("explain", "x.npy", "--to", "tvm_ffi" if is_installed("tvm_ffi") else "torch", "--copy", "false") == 1
    told = capsys.readouterr().err
    assert "mapped from x.npy" in told
    assert "mmap.mmap" not in told


@pytest.mark.parametrize(
    ("arguments", "typed"),
    [
        (["array:array('d', [1.0])", "--to", "jax"], "JAX_ENABLE_X64=1 in the environment"),
        (["builtins:b'ab'", "--to", "tvm_ffi", "--copy", "false"], "no --copy false (a copy of 2 bytes, counted)"),
        (["builtins:b'ab'", "--to", "tvm_ffi", "--copy", "false"], "--alias-readonly: you promise not to write"),
        (["builtins:b'ab'", "--to", "builtins:bytes", "--copy", "false"], "or --to memoryview"),
        (["builtins:b'ab'", "--to", "bytes"], "--to builtins:bytes"),
        (["builtins:b'ab'", "--to", "PIL"], "--to PIL.Image:fromarray"),
        (["builtins:b'ab'", "--to", "nothing_like_it"], "any class or function as module:name"),
    ],
)
def test_what_to_do_is_told_as_it_is_typed_here(capsys, monkeypatch, arguments, typed):
    for target in {"jax", "tvm_ffi"} & set(arguments):
        pytest.importorskip(target)
    monkeypatch.delenv("JAX_ENABLE_X64", raising=False)
    assert ends("explain", *arguments) in (1, 2)
    assert typed in " ".join(capsys.readouterr().err.split())


def test_jax_takes_64_bits_by_the_environment_that_is_told():
    pytest.importorskip("jax")
    command = [sys.executable, "-m", "lend", "explain", "array:array('d', [1.0])", "--to", "jax"]
    environment = {**os.environ, "JAX_ENABLE_X64": "1"}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr


def test_target_may_be_a_class_or_function(capsys):
    assert ends("explain", "builtins:b'1234'", "--to", "builtins:bytearray") == 0
    assert capsys.readouterr().out == f"{explain(b'1234', bytearray)}\n"


@pytest.mark.parametrize("option", [["--copy", "true"], ["--copy", "false"], ["--alias-readonly"]])
def test_keywords_reach_what_is_possible(capsys, option):
    keywords = {"alias_readonly": True} if option == ["--alias-readonly"] else {"copy": option[1] == "true"}
    assert ends("explain", "builtins:b'1234'", *option, "--json") == 0
    told, expected = json.loads(capsys.readouterr().out)["targets"], explain(b"1234", **keywords).targets
    # the address, which jax minds, is another
    assert {**told, "jax": ""} == {**expected, "jax": ""}


def test_target_that_is_not_installed_ends_with_1_and_is_told(monkeypatch, capsys):
    def absent(*args, **keywords):
        raise ImportError("polars is not installed")

    monkeypatch.setattr("lend.plan.explain", absent)
    assert ends("explain", "builtins:b'1234'", "--to", "polars") == 1
    assert capsys.readouterr().err == "lend: polars is not installed\n"


@pytest.mark.parametrize("source", ["surely_not_installed:x", "nowhere.npy", "neither"])
def test_what_cannot_be_loaded_ends_with_3_and_one_sentence(capsys, source):
    assert ends("explain", source) == 3
    assert capsys.readouterr().err.count("\n") == 1


def test_doctor_prints_a_table(capsys):
    assert ends("doctor", "bytes") == 0
    assert "bytes    bytes   buffer protocol  shared" in capsys.readouterr().out


def test_doctor_prints_json(capsys):
    assert ends("doctor", "bytes", "array", "--json") == 0
    assert [entry["library"] for entry in json.loads(capsys.readouterr().out)["libraries"]] == ["bytes", "array"]


def test_lend_runs_as_a_module():
    run = subprocess.run([sys.executable, "-m", "lend", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"lend {lend.__version__}\n"


def test_exit_code_reaches_the_shell():
    run = subprocess.run([sys.executable, "-m", "lend", "explain", "neither"], capture_output=True, check=False)
    assert run.returncode == 3


@pytest.mark.skipif(sys.platform == "win32", reason="Windows tells it by another error")
def test_reader_that_goes_away_is_no_failure():
    command = [sys.executable, "-m", "lend", "doctor", "bytes"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait() == 0


def test_the_folder_for_pkg_config_has_the_file(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--pkgconfigdir"])
    assert ended.value.code == 0
    assert (Path(capsys.readouterr().out.strip()) / "lend.pc").is_file()


NULLS = "pyarrow:array([1, None])"


@pytest.mark.parametrize(
    ("typed", "keywords"),
    [
        (["nulls=nan"], {"nulls": "nan"}),
        (['nulls=("fill", 0)'], {"nulls": ("fill", 0)}),
        (["nulls=nan", "storage=True"], {"nulls": "nan", "storage": True}),
    ],
)
def test_options_of_a_target_are_typed_by_name(capsys, typed, keywords):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("numpy")
    said = [word for option in typed for word in ("--option", option)]
    assert ends("explain", NULLS, "--to", "numpy", *said) == 0
    assert capsys.readouterr().out == f"{explain(pa.array([1, None]), 'numpy', **keywords)}\n"


@pytest.mark.parametrize("typed", ["nulls", "=1", "a b=1"])
def test_an_option_without_a_name_or_a_value_is_a_wrong_command_line(capsys, typed):
    assert ends("explain", "builtins:b'1'", "--to", "memoryview", "--option", typed) == 2
    assert f"--option is NAME=VALUE, not {typed!r}" in capsys.readouterr().err


def test_an_option_that_a_target_does_not_have_is_a_wrong_command_line(capsys):
    pytest.importorskip("pyarrow")
    assert ends("explain", NULLS, "--to", "pyarrow", "--option", "surely=1") == 2
    assert "surely: not an option of pyarrow" in capsys.readouterr().err


def test_a_remedy_with_options_is_told_as_it_is_typed_and_works(capsys):
    pytest.importorskip("pyarrow")
    pytest.importorskip("numpy")
    assert ends("explain", NULLS, "--to", "numpy") == 1
    told = capsys.readouterr().err
    assert "--to numpy --option nulls=nan: float64" in told
    line = next(line for line in told.splitlines() if "fill" in line)
    typed = shlex.split(line.partition(": a value")[0])
    assert ends("explain", NULLS, *typed) == 0


def test_what_stands_inside_other_calls_stays_python(capsys):
    pytest.importorskip("pandas")
    assert ends("explain", "pandas:DataFrame({'a': [1]}, index=[3]).rename_axis('a')", "--to", "polars") == 1
    assert "--option index=drop: one of them is the index" in capsys.readouterr().err
