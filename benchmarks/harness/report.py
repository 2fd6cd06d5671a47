"""From measured cases to ratios, Markdown and JSON."""

import json
import pathlib
import statistics

from .environment import heading

RESULTS = pathlib.Path(__file__).parents[1] / "results"


def merge(runs):
    """Several processes' results as one: the least minimum, the median of medians, and each process's minimum."""
    merged = {}
    for key in {key: None for run in runs for key in run}:
        seen = [run[key] for run in runs if key in run]
        merged[key] = {
            "min": min(one["min"] for one in seen),
            "median": statistics.median(one["median"] for one in seen),
            "cpu_median": statistics.median(one["cpu_median"] for one in seen),
            "mins": [one["min"] for one in seen],
        }
    return merged


def judge(table, measured):
    """Each target of a table with its ratio, None where one of its two cases was not measured."""
    return [verdict(table, row, target, measured) for row in table.rows for target in row.targets]


def verdict(table, row, target, measured):
    """One target as a flat record."""
    record = {"row": row.name, "ours": target.ours, "against": target.against}
    record |= {"at_most": target.at_most, "headline": target.headline, "ratio": None}
    a, b = (measured.get(f"{table.name} / {row.name} / {name}") for name in (target.ours, target.against))
    if a and b:
        each = [x / y for x, y in zip(a["mins"], b["mins"], strict=False)]
        ratio = a["min"] / b["min"]
        record |= {"ratio": ratio, "least": min(each), "most": max(each), "met": ratio <= target.at_most}
    return record


def verdict_lines(verdicts):
    """A Markdown table of targets."""
    lines = [
        "| row | ratio | is | processes | must be | |",
        "|---|---|---:|---|---:|---|",
    ]
    for v in verdicts:
        bold = "**" if v["headline"] else ""
        if v["ratio"] is None:
            lines.append(
                f"| {bold}{v['row']}{bold} | {v['ours']} / {v['against']} | | | {v['at_most']:.2f} | NOT MEASURED |"
            )
            continue
        lines.append(
            f"| {bold}{v['row']}{bold} | {v['ours']} / {v['against']} | {bold}{v['ratio']:.2f}{bold} "
            f"| {v['least']:.2f} .. {v['most']:.2f} | {v['at_most']:.2f} | {'met' if v['met'] else 'MISSED'} |"
        )
    return lines


def table_lines(table, measured):
    """A Markdown table of times; our cases also as multiples of the row's first floor."""
    lines = [
        f"## {table.title}",
        "",
        "| row | case | | min ns | median | cpu median | x floor |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for row in table.rows:
        name, base = row.name, None
        for case in row.cases:
            m = measured.get(f"{table.name} / {row.name} / {case.name}")
            if not m:
                continue
            if case.role == "floor" and base is None:
                base = m["min"]
            multiple = f"{m['min'] / base:.2f}" if base else ""
            bold = "**" if case.role == "ours" else ""
            lines.append(
                f"| {name} | {bold}{case.name}{bold} | {case.role} | {bold}{m['min']:.1f}{bold} | {m['median']:.1f} "
                f"| {m['cpu_median']:.1f} | {multiple} |"
            )
            name = ""
    return lines


def write(name, facts, lines, data):
    """Write results/NAME.md and results/NAME.json and print the first."""
    RESULTS.mkdir(exist_ok=True)
    text = "\n".join(lines) + "\n"
    (RESULTS / f"{name}.md").write_text(text)
    (RESULTS / f"{name}.json").write_text(json.dumps({"environment": facts, **data}, indent=1) + "\n")
    print(text)


def arrays_report(tables, measured, skipped, facts, note):
    """The whole page of the array tables."""
    verdicts = {table.name: judge(table, measured[table.name]) for table in tables}
    heads = [v for table in tables for v in verdicts[table.name] if v["headline"]]
    empty = min(measured[table.name]["empty loop"]["min"] for table in tables)
    lines = ["# Arrays: lend beside its floor and its peers", "", *heading(facts), "", note, ""]
    lines += [f"The empty loop, included everywhere: {empty:.1f} ns.", ""]
    if heads:
        lines += ["## Headlines", "", *verdict_lines(heads), ""]
    for table in tables:
        lines += [*table_lines(table, measured[table.name]), ""]
        watched = [v for v in verdicts[table.name] if not v["headline"] and v["ratio"] is not None]
        if watched:
            lines += ["Watched:", "", *verdict_lines(watched), ""]
    if skipped:
        lines += ["## Not measured", "", *(f"- {key}: {why}" for key, why in skipped.items()), ""]
    write("arrays", facts, lines, {"tables": measured, "targets": verdicts, "skipped": skipped})
    return verdicts
