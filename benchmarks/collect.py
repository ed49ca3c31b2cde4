"""Run the benchmarks, keep what they measured, and write RESULTS.md from it.

    python benchmarks/collect.py                        # every part: hours
    python benchmarks/collect.py boosting linear.dense  # some parts, or cases of a part
    python benchmarks/collect.py --quick                # every part at toy size; nothing is kept
    python benchmarks/collect.py --clock processor ...  # on a busy machine
    python benchmarks/collect.py --write                # measure nothing, write RESULTS.md anew

Each part runs in a process of its own. Its tables go to results/<part>.json, with the versions, the machine
and its load before and after; what differs from the kept run by more than a tolerance is said ("slower than
before by 20 %"). The words around the tables are in results/<part>.md, where ``{{name}}`` alone on a
line stands for a table; tables that the words leave out follow them.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from goals import GOALS, Goal
from measuring import CLOCKS, HERE, RESULTS, Table, load

#: The parts in the order of RESULTS.md.
PARTS = (
    "losses", "boosting", "rare", "intervals", "rounds", "boosting_papers", "linear", "search", "quality",
    "quality_ranks", "costs", "forest", "trees", "trees_rules", "categories", "reading", "scaling",
    "robustness", "out_of_core", "workers", "interop",
)  # fmt: skip
INTRODUCTION = """# Results

The tables are written by `python benchmarks/collect.py` from what it measured, the words around them by hand.
"Fastest peer ÷ ours" and the like are ratios of times in the same run; above 1, propriety is faster.
"""


# --- running ------------------------------------------------------------------------------------------------


def chosen(words: Iterable[str]) -> dict[str, list[str]]:
    """Cases by part; none for all of a part."""
    found: dict[str, list[str]] = defaultdict(list)
    for word in words:
        part, _, case = word.partition(".")
        if part not in PARTS:
            sys.exit(f"no such part: {part}; parts: {', '.join(PARTS)}")
        found[part] += [case] if case else []
    return found or {part: [] for part in PARTS}


def run_part(file: Path, cases: Sequence[str], results: Path | None, options: Sequence[str]) -> int:
    """Run a part in a process of its own and keep its tables in the folder of results, if there is one."""
    command = [sys.executable, str(file), *cases, *options]
    if results is not None:
        command += ["--keep", str(results / f"{file.stem}.json")]
    return subprocess.run(command, check=False).returncode


# --- writing ------------------------------------------------------------------------------------------------


def generate(results: Path, parts: Sequence[str] = PARTS, goals: Mapping[str, Goal] = GOALS) -> str:
    """RESULTS.md: goals, then the words and tables of every part."""
    tables = {part: load(results / f"{part}.json") for part in parts}
    blocks = [INTRODUCTION, goals_table(tables, goals)]
    blocks += [section(results / f"{part}.md", tables[part]) for part in parts]
    return "\n".join(block.rstrip() + "\n" for block in blocks if block.strip())


def goals_table(tables: Mapping[str, Mapping[str, Table]], goals: Mapping[str, Goal]) -> str:
    """Every goal with what was measured last."""
    found = {}
    for of_part in tables.values():
        for table in of_part.values():
            for name, value in table.goals.items():
                if name not in goals:
                    raise ValueError(f"table {table.name!r} measures {name!r}, which is no goal of goals.py")
                found[name] = value, table
    lines = ["| work | goal | measured | reached | when, where | elsewhere |", "|---|---:|---:|---|---|---|"]
    for name, goal in goals.items():
        bound = f"{'≤' if goal.at_most else '≥'} {goal.bound:g} {goal.unit}".strip()
        if name not in found:
            lines.append(f"| {goal.work} | {bound} | not yet | | | |")
            continue
        value, table = found[name]
        when = [table.measured.get("date", ""), _short(table.processor)]
        when += ["by processor time"] if table.measured.get("clock") == "processor" else []
        cell = f"{value:.3g} {goal.unit}".strip()
        others = [
            f"{_short(processor)}: {known['goals'][name]:.3g}"
            for processor, known in table.elsewhere.items()
            if name in known["goals"]
        ]
        reached = "yes" if goal.reached(value) else "no"
        where = ", ".join(filter(None, when))
        lines.append(f"| {goal.work} | {bound} | {cell} | {reached} | {where} | {'; '.join(others)} |")
    return "## Goals\n\n" + "\n".join(lines)


def _short(processor: str) -> str:
    """Its name without signs of trademarks and the word itself."""
    return re.sub(r"\((?:R|TM)\)|\b(?:Processor|CPU)\b", "", processor).strip()


def section(words: Path, tables: Mapping[str, Table]) -> str:
    """The words of a part with its tables in their places, the other tables, and how all were measured."""
    if not tables and not words.exists():
        return ""
    text = words.read_text(encoding="utf-8") if words.exists() else f"## {words.stem}\n"
    named = re.findall(r"^\{\{(.+?)\}\}$", text, flags=re.MULTILINE)
    unknown = [name for name in named if name not in tables]
    if unknown:
        raise ValueError(f"{words} names tables that {words.stem}.json has not: {', '.join(unknown)}")
    text = re.sub(r"^\{\{(.+?)\}\}$", lambda m: tables[m[1]].markdown(), text, flags=re.MULTILINE)
    others = [table for name, table in tables.items() if name not in named]
    blocks = [text.rstrip(), *(f"{table.title}:\n\n{table.markdown()}" for table in others)]
    return "\n\n".join([*blocks, *how(tables.values())])


def how(tables: Iterable[Table]) -> list[str]:
    """A paragraph for each set of versions and machine: which tables, when, and at what load."""
    groups: dict[str, list[Table]] = defaultdict(list)
    for table in tables:
        if table.measured:
            m = table.measured
            packages = ", ".join(f"{name} {v}" for name, v in m.get("versions", {}).items())
            cores = f"{m['machine']['cores']} cores" if m.get("machine") else ""
            clock = "by processor time" if m.get("clock") == "processor" else ""
            groups["; ".join(filter(None, [m["date"], packages, cores, clock]))].append(table)
    lines = []
    for words, group in groups.items():
        loads = [x for table in group for x in table.measured.get("load") or [] if x is not None]
        load_words = f"; load {min(loads):g} to {max(loads):g}" if loads else ""
        names = ", ".join(f"`{table.name}`" for table in group)
        lines.append(f"Measured {words}{load_words}: {names}.")
    return lines


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", help=f"some of: {', '.join(PARTS)}; part.case for a case")
    parser.add_argument("--list", action="store_true", help="list the parts and leave")
    parser.add_argument("--write", action="store_true", help="measure nothing, write RESULTS.md")
    parser.add_argument("--quick", action="store_true", help="toy sizes, to see that it runs; keeps nothing")
    parser.add_argument("--repeats", type=int, help="how often each call is timed")
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    given = parser.parse_args()
    if given.list:
        print("\n".join(PARTS))
        return
    options = ["--clock", given.clock, *(["--quick"] if given.quick else [])]
    options += ["--repeats", str(given.repeats)] if given.repeats else []
    failed = []
    for part, cases in {} if given.write else chosen(given.parts).items():
        print(f"\n# {part}", flush=True)
        if run_part(HERE / f"{part}.py", cases, None if given.quick else RESULTS, options):
            failed.append(part)
        if not given.quick:
            (HERE / "RESULTS.md").write_text(generate(RESULTS), encoding="utf-8")
    if given.write:
        (HERE / "RESULTS.md").write_text(generate(RESULTS), encoding="utf-8")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
