"""Fuzz every way into lend: `make fuzz`, and in small `make test`.

With a clang that has libFuzzer the inputs are guided by the coverage of lend's modules, which are compiled anew for it.
Without one the same harness (tests/fuzz/) runs with any C compiler over the lend that is installed or built, on
seeds and plain mutations of them. A fault ends the job that met it; its input is kept, and `--replay` runs it again.
"""

import argparse
import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import sanitize_build
from sanitize_build import EXTENSION, ROOT, include_flags

HARNESS = ROOT / "tests/fuzz"
SOURCES = ("input.c", "described.c", "producers.c", "dlpack.c", "arrow.c", "arrow_uses.c", "oracle.c", "takers.c",
           "paths.c", "uses.c", "module.c")  # fmt: skip
INSTALL = "apt-get install clang libclang-rt-14-dev  (the second by the number of the first; it has libFuzzer)"
LONGEST = 256
READERS = ("front", "dtypes/dtype", *(f"protocols/{name}" for name in ("arrow", "buffer", "dlpack", "array_interface")))
ASAN_OPTIONS = "detect_leaks=0:allocator_may_return_null=1:verify_asan_link_order=0:quarantine_size_mb=32"
ARITHMETIC = "signed-integer-overflow,shift,integer-divide-by-zero,bounds,bool,enum,vla-bound,float-cast-overflow"

# What a child runs: the harness first and for all, as its coverage counters are what lend's modules look for.
CHILD = """
import os, sys, time
sys.setdlopenflags(os.RTLD_NOW | os.RTLD_GLOBAL)
sys.path.insert(0, {harness!r})
import lend_fuzz
"""


class Build:
    """One way to compile harness and lend.

    Attributes
    ----------
    kind : str
        plain, libfuzzer or asan.
    quick : bool
        True: of lend only the modules that read what comes in are compiled anew, and the others are the installed ones.
    """

    def __init__(self, kind: str, folder: Path, jobs: int = 2, *, quick: bool = False) -> None:
        self.kind = kind
        self.jobs = jobs
        self.quick = quick
        self.folder = folder / kind
        self.preload: list[Path] = []
        self.site: Path | None = None

    def make(self) -> None:
        """Compile what changed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        counted = f"-include{HARNESS / 'counted.h'}"
        if self.kind == "plain":
            compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
            if importlib.util.find_spec("lend") is None:  # else the one that is installed will do
                self.site = sanitize_build.build(self.folder, compiler, ["-O1", "-g1", counted], jobs=self.jobs)
            self._harness(compiler, ["-O1", "-g"], [])
            return
        found = sanitize_build.find_clang()
        assert found is not None
        clang, libraries = found
        link = []
        if self.kind == "asan":
            # slow as it is, it also looks at what numbers and texts are compared with
            flags = ["-O1", "-fsanitize=fuzzer-no-link,address,undefined", "-fno-sanitize-recover=all"]
            link = ["-shared-libasan"]
            self.preload = [libraries["asan"]]
        else:
            # the checks of arithmetic; those of every pointer would double what there is to count, and asan has them
            flags = ["-O1" if self.quick else "-O2", f"-fsanitize={ARITHMETIC}", f"-fsanitize-trap={ARITHMETIC}"]
            flags += ["-fsanitize-coverage=inline-8bit-counters,pc-table"]
        # an empty array has the address NULL, and clang takes offence at NULL + 0
        flags += ["-fno-sanitize=pointer-overflow", "-g1", "-fno-omit-frame-pointer"]
        if self.quick:
            self.site = sanitize_build.build(self.folder, [clang], flags, jobs=self.jobs, only=READERS)
        else:
            self.site = sanitize_build.build(self.folder, [clang], [*flags, counted], link=link, jobs=self.jobs)
        whole = [
            "-Wl,--whole-archive",
            str(libraries["fuzzer"]),
            "-Wl,--no-whole-archive",
            "-lstdc++",
            "-lm",
            "-lpthread",
        ]
        self._harness([clang], [*flags, "-DLEND_FUZZ_LIBFUZZER"], [*link, *whole])

    def _harness(self, compiler: list[str], flags: list[str], link: list[str]) -> None:
        target = self.folder / f"lend_fuzz{EXTENSION}"
        sources = [HARNESS / name for name in SOURCES]
        headers = [*(ROOT / "src/lend").glob("*/*.h"), *HARNESS.glob("*.[ch]")]
        newest = max(path.stat().st_mtime for path in [*headers, Path(__file__)])
        if target.exists() and target.stat().st_mtime > newest:
            return
        common = [
            "-std=gnu11",
            "-fPIC",
            "-shared",
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
            "-Wno-cast-function-type",
        ]
        draft = target.with_name(f"{os.getpid()}-{target.name}")
        command = [*compiler, *common, *flags, *include_flags(), *map(str, sources), "-o", str(draft), *link]
        sanitize_build.run(command)
        draft.replace(target)

    def environment(self) -> dict[str, str]:
        """What a child needs to find it all."""
        path = [] if self.site is None else [str(self.site)]
        path += filter(None, [os.environ.get("PYTHONPATH")])
        made = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        if self.preload:
            # the harness first: the sanitizer's library has words for coverage too, and they do nothing
            made["LD_PRELOAD"] = " ".join(map(str, [self.folder / f"lend_fuzz{EXTENSION}", *self.preload]))
            made["PYTHONMALLOC"] = "malloc"
            made["ASAN_OPTIONS"] = ASAN_OPTIONS
            made["UBSAN_OPTIONS"] = "print_stacktrace=1"
        return made

    def child(self, code: str, *words: str) -> list[str]:
        """The command line of a child."""
        return [sys.executable, "-c", CHILD.format(harness=str(self.folder)) + code, *words]


def read_hex(path: Path) -> bytes:
    """An input as it is committed: hexadecimal digits, and after # what it was."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return bytes.fromhex("".join(line.partition("#")[0] for line in lines))


def write_seeds(build: Build, corpus: Path) -> int:
    """Fill the corpus with the seeds: made ones, and the inputs that once found a fault."""
    corpus.mkdir(parents=True, exist_ok=True)
    code = "sys.path.insert(0, sys.argv[1])\nimport seeds\nseeds.write(lend_fuzz, sys.argv[2])\n"
    sanitize_build.run(build.child(code, str(HARNESS), str(corpus)), env=build.environment())
    for path in sorted((HARNESS / "regressions").glob("*.hex")):
        (corpus / f"seed-{path.stem}").write_bytes(read_hex(path))
    return len(list(corpus.iterdir()))


def replay(build: Build, paths: list[Path]) -> int:
    """Run inputs one by one, each in a process of its own, saying what happens; how many of them met a fault."""
    failed = 0
    for path in paths:
        data = read_hex(path) if path.suffix == ".hex" else path.read_bytes()
        code = "lend_fuzz.run(bytes.fromhex(sys.argv[1]))\n"
        environment = {**build.environment(), "LEND_FUZZ_SAY": "1"}
        done = subprocess.run(
            build.child(code, data.hex()),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=environment,
        )
        failed += done.returncode != 0
        print(f"== {path.name}: {'a fault' if done.returncode else 'nothing wrong'}")
        if done.returncode:
            print(done.stdout + done.stderr)
    return failed


class Job:
    """One process of libFuzzer, begun anew when it ends before its time."""

    def __init__(self, number: int, build: Build, options: "argparse.Namespace", folder: Path) -> None:
        self.number, self.build, self.options = number, build, options
        self.folder = folder
        self.log = folder / f"job-{number}-{build.kind}.log"
        self.before = 0  # inputs of the processes that have ended
        self.reached = self.faults = 0
        self.left = options.runs // options.jobs if options.runs else 0
        self.child: subprocess.Popen[bytes] | None = None

    def start(self, seconds: float) -> None:
        """Begin, for so many seconds (0: without end)."""
        words = [f"-max_len={LONGEST}", "-entropic=0", "-rss_limit_mb=4096", "-timeout=60", "-print_final_stats=1"]
        words += [f"-artifact_prefix={self.folder / 'faults'}/", "-reload=300", "-use_value_profile=0", "-verbosity=1"]
        words += [f"-max_total_time={int(seconds) + 1}"] if seconds else []
        words += [f"-runs={self.left - self.before}"] if self.left else []
        words += [str(self.folder / "corpus")]
        code = "lend_fuzz.fuzz(['lend_fuzz', *sys.argv[1:]])\n"
        with self.log.open("wb") as log:
            self.child = subprocess.Popen(
                self.build.child(code, *words), stdout=log, stderr=subprocess.STDOUT, env=self.build.environment()
            )

    def said(self) -> tuple[int, int]:
        """Inputs run in all, and the edges that they reached, by the log."""
        if self.child is None:
            return self.before, self.reached
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        runs = [int(number) for number in re.findall(r"^#(\d+)\t", text, flags=re.MULTILINE)]
        runs += [
            int(number) for number in re.findall(r"^stat::number_of_executed_units: +(\d+)", text, flags=re.MULTILINE)
        ]
        reached = [int(number) for number in re.findall(r"cov: (\d+)", text)]
        return self.before + max(runs, default=0), max(reached, default=0)

    def stop(self) -> None:
        """End the process, which tells how far it came."""
        if self.child is not None:
            self.child.terminate()
            self.child.wait()

    def ended(self) -> bool:
        """True once the process is gone; what it met is told."""
        assert self.child is not None
        if self.child.poll() is None:
            return False
        self.before, self.reached = self.said()
        status, self.child = self.child.returncode, None
        if status:
            self.faults += 1
            text = self.log.read_text(encoding="utf-8", errors="replace")
            at = text.find("== FAULT")
            print(f"job {self.number} met a fault:\n{text[at if at >= 0 else -4000 :][:6000]}", flush=True)
            kept = self.log.with_suffix(f".fault-{self.faults}")
            shutil.copyfile(self.log, kept)
        return True


def guided(builds: list[Build], options: "argparse.Namespace", folder: Path) -> int:
    """Run the jobs until their time, or their number of inputs, is over; the number of faults."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background has it ignored
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    (folder / "faults").mkdir(parents=True, exist_ok=True)
    before = set((folder / "faults").iterdir())
    jobs = [Job(number, builds[number % len(builds)], options, folder) for number in range(options.jobs)]
    begin = told = time.monotonic()
    for job in jobs:
        job.start(options.seconds)
    running = list(jobs)
    try:
        while running:
            time.sleep(1)
            spent = time.monotonic() - begin
            for job in list(running):
                if not job.ended():
                    continue
                over = options.seconds and spent >= options.seconds
                done = job.left and job.before >= job.left
                if job.faults and job.faults < options.faults and not over and not done:
                    job.start(options.seconds and options.seconds - spent)
                else:
                    running.remove(job)
            if time.monotonic() - told >= options.tell or not running:
                told = time.monotonic()
                tell(jobs, spent)
    except KeyboardInterrupt:
        for job in running:
            job.stop()
        tell(jobs, time.monotonic() - begin)
    faults = sorted(set((folder / "faults").iterdir()) - before)
    for path in faults:
        print(f"kept: {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    return sum(job.faults for job in jobs)


def tell(jobs: list[Job], spent: float) -> None:
    """One line: how far it is."""
    numbers = [job.said() for job in jobs]
    runs = sum(number for number, _ in numbers)
    reached = max(edges for _, edges in numbers)
    kinds = "+".join(job.build.kind for job in jobs)
    print(
        f"{time.strftime('%H:%M:%S')} {spent:.0f} s, {runs} inputs ({runs / max(spent, 1):.0f} a second, {kinds}), "
        f"{reached} edges, {sum(job.faults for job in jobs)} faults",
        flush=True,
    )


PLAIN = """
import pathlib
paths = sorted(pathlib.Path(sys.argv[1]).iterdir())
seeds = [path.read_bytes() for path in paths]
for path, seed in zip(paths, seeds):
    with open(sys.argv[5], "wb") as kept:  # if it is the last one
        kept.write(seed)
    lend_fuzz.run(seed)
os.unlink(sys.argv[5])
done = lend_fuzz.mutate(seeds, int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
print(len(seeds) + done, *lend_fuzz.counts())
"""


def plain(build: Build, options: "argparse.Namespace", folder: Path) -> int:
    """Replay the seeds, then run mutations of them, without a look at what they reach; 1 for a fault."""
    (folder / "faults").mkdir(parents=True, exist_ok=True)
    kept = folder / "faults" / f"plain-{options.seed}"
    runs, seconds = options.runs or 10**12, options.seconds or 1e9
    words = [str(folder / "corpus"), str(runs), str(seconds), str(options.seed), str(kept)]
    done = subprocess.run(
        build.child(PLAIN, *words),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env=build.environment(),
    )
    if done.returncode:
        print(f"a fault (exit status {done.returncode}); its input: {kept}")
        print(done.stdout + done.stderr)
        return 1
    total, _, taken = map(int, done.stdout.split()[-3:])
    print(f"{total} inputs without coverage, of which {taken} gave something, no fault")
    return 0


def main() -> int:
    """Build, seed, run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="how long; 0: until interrupted (60)")
    parser.add_argument("--runs", type=int, default=0, help="how many inputs in all; 0: as many as the time allows")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument("--asan", type=int, default=0, metavar="N", help="of the jobs, how many with AddressSanitizer")
    parser.add_argument("--plain", action="store_true", help="without clang: seeds and mutations of them")
    parser.add_argument("--quick", action="store_true", help="compile only a part of an installed lend anew")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what plain mutations begin with")
    parser.add_argument("--faults", type=int, default=1, help="faults after which a job is not begun again (1)")
    parser.add_argument("--tell", type=float, default=30, help="seconds between two lines about it (30)")
    parser.add_argument("--only", metavar="PATH", help="only the ways in whose name begins so: arrow, dlpack, ...")
    parser.add_argument("--folder", type=Path, default=ROOT / ".fuzz", help="where builds, corpus and faults go")
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE", help="run these inputs, and say what happens")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    if options.only:
        os.environ["LEND_FUZZ_ONLY"] = options.only  # for the children; an input that was found so is replayed so
    use_clang = not options.plain and sanitize_build.find_clang() is not None
    if not use_clang and not options.plain:
        print(f"There is no clang with libFuzzer here, so nothing guides the inputs. {INSTALL}", flush=True)
    kinds = ["plain"] if not use_clang else []
    if use_clang:
        kinds = ["asan"] * min(options.asan, options.jobs) + ["libfuzzer"] * max(options.jobs - options.asan, 0)
    builds = {kind: Build(kind, options.folder, quick=options.quick) for kind in dict.fromkeys(kinds)}
    for kind, build in builds.items():
        print(f"== building ({kind})", flush=True)
        build.make()
    first = next(iter(builds.values()))
    if options.replay:
        return 1 if replay(first, options.replay) else 0
    count = write_seeds(first, options.folder / "corpus")
    print(f"== fuzzing from {count} inputs", flush=True)
    if not use_clang:
        return plain(first, options, options.folder)
    return 1 if guided([builds[kind] for kind in kinds], options, options.folder) else 0


if __name__ == "__main__":
    sys.exit(main())
