"""Interleaved timing: every case takes its turn in every round, and the start rotates."""

import ast
import builtins
import gc
import itertools
import statistics
import time

LOOP_NS = 1_200_000  # what one turn of a case should last


def compile_loop(statement, namespace):
    """Make a function that runs the statement once for each item of its first argument and returns (wall, cpu) in ns.

    The statement is inlined, each name it uses is a local, and its result is dropped in each iteration.
    """
    used = {node.id for node in ast.walk(ast.parse(statement)) if isinstance(node, ast.Name)}
    known = {name: namespace[name] if name in namespace else getattr(builtins, name) for name in sorted(used)}
    known.update(_wall=time.perf_counter_ns, _cpu=time.thread_time_ns)
    source = (
        f"def loop(_times, {', '.join(f'{name}={name}' for name in known)}):\n"
        "    _c = _cpu()\n"
        "    _w = _wall()\n"
        "    for _ in _times:\n"
        f"        {statement}\n"
        "    _w = _wall() - _w\n"
        "    return _w, _cpu() - _c\n"
    )
    exec(compile(source, f"<loop: {statement}>", "exec"), known)
    return known["loop"]


def run(loop, times):
    """One turn."""
    return loop(itertools.repeat(None, times))


def calibrate(loop, target_ns=LOOP_NS):
    """How many times the statement runs in a turn."""
    times = 1
    while (wall := min(run(loop, times)[0] for _ in range(3))) < target_ns / 4:
        times *= 4
    return max(1, round(times * target_ns / wall))


def interleave(cases, rounds):
    """Time all cases, ready ones of one table, in one process.

    Returns
    -------
    dict of key to {"min", "median", "cpu_median", "times"}, ns per iteration, the loop included
    """
    loops = {case.key: compile_loop(case.case.statement, case.namespace) for case in cases}
    loops["empty loop"] = compile_loop("pass", {})
    gc.collect()
    gc.disable()
    try:
        times = {key: calibrate(loop) for key, loop in loops.items()}
        walls, cpus = {key: [] for key in loops}, {key: [] for key in loops}
        order = list(loops)
        for turn in range(rounds):
            first = turn % len(order)
            for key in order[first:] + order[:first]:
                wall, cpu = run(loops[key], times[key])
                walls[key].append(wall / times[key])
                cpus[key].append(cpu / times[key])
    finally:
        gc.enable()
    return {
        key: {
            "min": min(walls[key]),
            "median": statistics.median(walls[key]),
            "cpu_median": statistics.median(cpus[key]),
            "times": times[key],
        }
        for key in loops
    }
