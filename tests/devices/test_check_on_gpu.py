"""scripts/check_on_gpu.py, which is for a real GPU, run over the double: it ends, and its report is right."""

import ast
import json
import os
import subprocess
import sys

import pytest

from support import fakecuda
from support.source_tree import ROOT

SCRIPT = ROOT / "scripts" / "check_on_gpu.py"
TABLE = {
    "pageable", "pinned", "pinned, write-combined", "registered", "registered, at the address for the device",
    "managed", "managed of a pool", "device", "device, of a pool", "device, created by steps",
    "created on a node of the host", "pages of the host, called a device's",
}  # fmt: skip
SINGLE = {
    "size 0", "freed", "beyond its allocation", "called the host's", "a bare read by the host", "after a fork",
    "another device", "a device that is not there",
}  # fmt: skip
ORDER = {"the consumer's stream", "a release", "a capture"}
COLUMNS = {"there and back", "late work", "several devices", "members as pylibcudf's"}


def run(folder, *args, **env):
    """Exit status, report (None: there is none) and what was printed."""
    path = fakecuda.library()
    command = [sys.executable, str(SCRIPT), "--driver", str(path), "--bytes", str(1 << 20), *args]
    place = {"LD_LIBRARY_PATH": str(path.parent), "FAKECUDA_DEVICES": "2", "FAKECUDA_MODEL": "discrete"}
    report = folder / "check_on_gpu.json"
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, **place, **env})
    found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else None
    return done.returncode, found, done.stdout + done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run(tmp_path_factory.mktemp("whole"))


def rows(report, *statuses):
    return [row for row in report["rows"] if row["status"] in statuses]


def test_nothing_fails_on_the_double(whole):
    status, report, told = whole
    assert (rows(report, "failed"), status) == ([], 0), told


@pytest.mark.parametrize(
    ("group", "names"), {"table": TABLE, "single": SINGLE, "order": ORDER, "columns": COLUMNS}.items()
)
def test_every_check_has_rows_that_are_ok(whole, group, names):
    assert {row["check"] for row in rows(whole[1], "ok") if row["group"] == group} == names


def test_what_is_skipped_is_a_library_and_has_a_reason(whole):
    skipped = rows(whole[1], "skipped")
    assert {row["group"] for row in skipped} <= {"torch", "cupy", "numba", "cuda.core"}
    assert all(row["reason"] for row in skipped)


def test_copies_are_measured_beside_those_of_the_driver(whole):
    found = {row["what"]: row for row in whole[1]["speed"]}
    assert {"host to device", "device to host", "device to host, rows that lie apart"} < set(found)
    assert all(row["lend_s"] > 0 and row["driver_s"] > 0 and row["bus_s"] > 0 for row in found.values())


def test_the_report_says_of_what_it_is(whole):
    report = whole[1]
    assert (report["format"], report["driver"], report["double"]) == (1, 13000, True)
    assert [device["name"] for device in report["devices"]] == ["FakeCUDA discrete #0", "FakeCUDA discrete #1"]
    assert sum(report["summary"].values()) == len(report["rows"])


@pytest.mark.parametrize("model", ["hmm", "jetson"])
def test_nothing_fails_where_the_host_reads_more_or_less(tmp_path, model):
    status, report, told = run(tmp_path, "--only=table", FAKECUDA_MODEL=model)
    assert (rows(report, "failed"), status) == ([], 0), told


def test_a_row_that_is_not_as_expected_is_told_and_the_rest_goes_on(tmp_path):
    status, report, told = run(tmp_path, "--only=single", FAKECUDA_FORK="share")
    (row,) = rows(report, "failed")
    assert (status, row["check"], row["got"]) == (1, "after a fork", "device; refused: NotHostAccessible")
    assert "FAILED single / after a fork" in told
    assert {row["check"] for row in report["rows"]} == SINGLE


def test_a_check_that_dies_is_a_row_that_failed(tmp_path):
    (tmp_path / "cupy.py").write_text("import os\nos.abort()\n", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    status, report, _ = run(tmp_path, "--only=cupy", PYTHONPATH=path)
    assert [row["got"] for row in rows(report, "failed")] == ["the process is ended by SIGABRT"]
    assert status == 1


@pytest.mark.parametrize("model", ["discrete", "hmm", "jetson"])
def test_the_rows_of_cupy_are_carried_out_on_a_stand_in_with_its_names(tmp_path, model):
    tests = ROOT / "tests"
    path = os.pathsep.join([str(tests / "support" / "fakecuda" / "modules"), str(tests), *sys.path])
    env = {"PYTHONPATH": path, "LEND_FAKECUDA": str(fakecuda.library()), "FAKECUDA_MODEL": model}
    status, report, told = run(tmp_path, "--only=cupy", **env)
    assert (rows(report, "failed", "skipped"), status) == ([], 0), told
    assert len({row["asked"] for row in report["rows"]}) == len(report["rows"]) >= 9


def test_old_bytes_are_a_row_of_cupy_that_failed(tmp_path):
    tests = ROOT / "tests"
    made = (tests / "support" / "fakecuda" / "modules" / "cupy.py").read_text(encoding="utf-8")
    # a stream that is not told, as a library that has forgotten it
    (tmp_path / "cupy.py").write_text(made.replace('lambda self: _state["stream"], ', "lambda self: None, "), "utf-8")
    path = os.pathsep.join([str(tmp_path), str(tests), *sys.path])
    status, report, _ = run(tmp_path, "--only=cupy", PYTHONPATH=path, LEND_FAKECUDA=str(fakecuda.library()))
    assert ("read too early" in {row["got"] for row in rows(report, "failed")}, status) == (True, 1)


def names_used(library):
    """The dotted names of a library, and the methods of its objects, that its check uses."""
    source = (ROOT / "scripts" / "gpu_checks" / "libraries.py").read_text(encoding="utf-8")
    body = next(
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == f"of_{library.replace('.', '_')}"
    )
    dotted, methods = set(), set()
    for node in ast.walk(body):
        if not isinstance(node, ast.Attribute):
            continue
        text = ast.unparse(node)
        root = text.partition(".")[0]
        if root == library and "(" not in text:
            dotted.add(text)
        elif root not in ("gpu", "lend", "ctypes", library):
            methods.add(node.attr)
    return dotted, methods


def test_every_name_that_the_rows_of_torch_use_is_one_of_torchs():
    torch = pytest.importorskip("torch")
    dotted, methods = names_used("torch")
    assert {"torch.cuda.Stream", "torch.cuda.stream", "torch.from_dlpack"} <= dotted
    for name in dotted:
        found = torch
        for part in name.split(".")[1:]:
            found = getattr(found, part)
    of_objects = {*dir(torch.Tensor), *dir(torch.cuda.Stream), "tolist"}
    assert methods <= of_objects | {"cuda_stream"}


def test_the_rows_of_torch_hold_on_a_gpu_that_is_there(tmp_path):
    torch = pytest.importorskip("torch")
    if torch.version.cuda is None:
        pytest.skip("this torch is built without CUDA")
    if not torch.cuda.is_available():
        pytest.skip("torch finds no GPU here, and over the double of the driver it would need one of the runtime, too")
    report = tmp_path / "report.json"
    command = [sys.executable, str(SCRIPT), "--only=torch", "--report", str(report)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert rows(json.loads(report.read_text(encoding="utf-8")), "ok")


def test_an_error_of_the_driver_is_a_row_that_failed(tmp_path):
    status, report, _ = run(tmp_path, "--only=copies", FAKECUDA_FAIL="cuMemcpy3DAsync:719")
    assert any("CUDA_ERROR_LAUNCH_FAILED" in row["reason"] for row in rows(report, "failed"))
    assert status == 1


def test_without_a_device_there_is_no_report(tmp_path):
    status, report, told = run(tmp_path, FAKECUDA_NODEVICE="1")
    assert (status, report) == (2, None)
    assert "CUDA_ERROR_NO_DEVICE" in told
