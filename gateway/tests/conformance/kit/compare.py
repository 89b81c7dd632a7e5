"""Compares runs of the compatibility kit: `compare.py DIRECT.xml… -- THROUGH.xml…` (JUnit files, in the same order).

Prints for each pair how many checks passed, failed and were skipped in both, then every check whose outcome differs.
Exits with 1 when a check that passes directly does not pass through the gateway.
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree as tree

OUTCOMES = ("passed", "failed", "skipped")


def outcome(case):
    """Of one check; one that the kit expects to fail counts as skipped, as in its own summary."""
    for tag, name in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        found = case.find(tag)
        if found is not None:
            return name, (found.get("message") or "").strip()
    return "passed", ""


def read(path):
    cases = tree.parse(path).getroot().iter("testcase")
    return {f"{case.get('classname')}::{case.get('name')}": outcome(case) for case in cases}


def compare(name, direct, through):
    counts = [collections.Counter(result for result, _ in checks.values()) for checks in (direct, through)]
    columns = (f"{count[one]:8}" for count in counts for one in OUTCOMES)
    print(f"{name:32}{''.join(columns)}")
    for check in sorted(direct.keys() | through.keys()):
        before, after = (checks.get(check, ("missing", "")) for checks in (direct, through))
        if before[0] != after[0]:
            why = (after[1] or before[1]).replace("\n", " ")
            yield before[0] == "passed", f"{before[0]} -> {after[0]}  {name}  {check}\n    {why[:400]}"


def main(arguments):
    middle = arguments.index("--")
    pairs = list(zip(arguments[:middle], arguments[middle + 1 :], strict=True))
    print(f"{'':32}{'directly: passed, failed, skipped':>24} | through: passed, failed, skipped")
    differences = [
        one
        for direct, through in pairs
        for one in compare(pathlib.Path(direct).stem.replace("-direct", ""), read(direct), read(through))
    ]
    print()
    for _, text in differences:
        print(text)
    lost = sum(was_passed for was_passed, _ in differences)
    print(f"\n{lost} checks pass directly and do not pass through the gateway")
    return 1 if lost else 0


sys.exit(main(sys.argv[1:]))
