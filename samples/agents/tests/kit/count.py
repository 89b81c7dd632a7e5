"""Counts runs of the compatibility kit: `count.py REPORT.xml…` (JUnit files).

Prints how many checks passed, failed and were skipped in each; of the skipped ones, how many are another transport's, and why the others
were; and every failure. Exits with 1 when there is one.
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree as tree

# What the kit says of a check that is not for the transport that was asked for.
ELSEWHERE = ("transport not available", "transport not configured", "not configured", "not available")


def outcome(case):
    for tag, name in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        found = case.find(tag)
        if found is not None:
            return name, (found.get("message") or "").strip().replace("\n", " ")
    return "passed", ""


def count(path):
    outcomes = collections.Counter()
    reasons = collections.Counter()
    for case in tree.parse(path).getroot().iter("testcase"):
        result, why = outcome(case)
        elsewhere = result == "skipped" and any(words in why.lower() for words in ELSEWHERE)
        outcomes["elsewhere" if elsewhere else result] += 1
        if result == "failed":
            print(f"FAILED {path.stem} {case.get('classname')}::{case.get('name')}\n    {why[:300]}")
        elif result == "skipped" and not elsewhere:
            reasons[why[:160]] += 1
    applied = outcomes["passed"] + outcomes["failed"] + outcomes["skipped"]
    print(
        f"{path.stem:24}{outcomes['passed']:5} passed of {applied} for this transport, {outcomes['failed']} failed,"
        f" {outcomes['skipped']} skipped; {outcomes['elsewhere']} of other transports"
    )
    for why, times in reasons.most_common():
        print(f"    {times} skipped: {why}")
    return outcomes["failed"]


sys.exit(1 if sum(count(pathlib.Path(path)) for path in sys.argv[1:]) else 0)
