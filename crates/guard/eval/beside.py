"""Other engines on the very texts that ours was measured on: the tables of "side by side".

Takes the texts and a function that judges them with ours. Installs what `baselines.txt` pins, each in a folder of its own outside
the repository; what can't be installed or does not run is named as missing, never replaced.
"""

import hashlib
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OURS = "**Chancery**"
# The engines that are also shown their own hits in disguise.
DISGUISED = ("toolwall", "pyatr")


def folder(cache, package):
    """Where a package is installed; none if that can't be done."""
    for line in (HERE / "baselines.txt").read_text().splitlines():
        if line.startswith("#") or not line.startswith(package + " "):
            continue
        _, name, digest, *more = line.split()
        place = cache / "engines" / name.replace("==", "-")
        if (place / ".installed").exists():
            return place
        wheels = cache / "engines" / "wheels" / package
        pip = [sys.executable, "-m", "pip"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([*pip, "download", "-q", "--no-deps", "-d", wheels, name], check=False, **quiet)
        found = sorted(wheels.glob("*.whl"))
        if len(found) != 1 or hashlib.sha256(found[0].read_bytes()).hexdigest() != digest:
            return None
        steps = [["--no-deps", str(found[0])]] + ([more] if more else [])
        for step in steps:
            done = subprocess.run([*pip, "install", "-q", "--upgrade", "--target", place, *step], check=False, **quiet)
            if done.returncode != 0:
                return None
        (place / ".installed").touch()
        return place
    return None


def judge(cache, engine, texts):
    """Labels for each text and milliseconds for one; none if the engine is not to be had."""
    place = folder(cache, engine.split("+")[0])
    if place is None:
        return None
    given = "".join(json.dumps(text.encode("utf-8", "replace").decode()) + "\n" for text in texts)
    done = subprocess.run([sys.executable, HERE / "engines.py", engine, place], input=given.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        print(f"{engine}: {done.stderr.decode()[-600:]}", file=sys.stderr)
        return None
    *labels, took = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return labels, took


def share(hits):
    hits = [bool(hit) for hit in hits]
    return f"{sum(hits) / max(1, len(hits)):.4f}"


def parts(labels, groups):
    """The labels of each of the groups of texts that were judged in one go."""
    at = 0
    for group in groups:
        yield labels[at:at + len(group)]
        at += len(group)


def secrets(note, cache, groups, ours):
    made, docs, ids = groups
    note("\n### Side by side: secrets\n")
    note(f"The same {len(made)} keys, {len(docs)} documentation lines and {len(ids)} identifiers. Processor time of one text, the start of the engine left out.\n")
    note("| engine | recall | false on documentation | false on identifiers | ms a text |\n|---|---|---|---|---|")
    note(f"| {OURS} | {share(ours(made))} | {share(ours(docs))} | {share(ours(ids))} | – |")
    names = {"gitleaks": "gitleaks 8.30.1", "llm-guard": "llm-guard 0.3.16, secrets scanner as configured", "detect-secrets": "detect-secrets 1.5.0 without entropy",
             "detect-secrets+entropy": "detect-secrets 1.5.0 as configured"}
    for engine, name in names.items():
        judged = judge(cache, engine, made + docs + ids)
        if judged is None:
            note(f"| {name} | missing | | | |")
            continue
        cells = " | ".join(share(one) for one in parts(judged[0], (made, docs, ids)))
        note(f"| {name} | {cells} | {judged[1]:.2f} |")


def personal(note, cache, groups, ours):
    made, nearly, docs = groups
    kinds = sorted({kind for kind, _ in made})
    note("\n### Side by side: personal data\n")
    note("Precision / recall; false alarms counted on near-misses and on the texts of the other kinds.\n")
    note("| engine | " + " | ".join(kind.removeprefix("pii.") for kind in kinds) + " | documentation lines flagged | ms a text |")
    note("|---" * (len(kinds) + 3) + "|")
    texts = [text for _, text in made]

    def row(name, labels, took):
        mine, near, lines = parts(labels, (texts, nearly, docs))
        cells = []
        for kind in kinds:
            true = sum(kind in one for (of, _), one in zip(made, mine) if of == kind)
            false = sum(kind in one for (of, _), one in zip(made, mine) if of != kind) + sum(kind in one for one in near)
            cells.append(f"{true / max(1, true + false):.3f} / {true / sum(of == kind for of, _ in made):.3f}")
        flagged = share([[label for label in one if label in kinds] for one in lines])
        note(f"| {name} | {' | '.join(cells)} | {flagged} | {took} |")

    row(OURS, ours(texts + nearly + docs), "–")
    judged = judge(cache, "presidio", texts + nearly + docs)
    if judged is None:
        note("| presidio-analyzer 2.2.366, patterns | missing" + " |" * (len(kinds) + 2))
    else:
        row("presidio-analyzer 2.2.366, patterns", judged[0], f"{judged[1]:.2f}")
    note("\nThe regular expressions of agentgateway are in no package of a registry: not measured here.")


def injection(note, cache, groups, transforms, ours):
    wanted, harmless = groups
    names = {"llamafirewall": "LlamaFirewall 1.0.3, patterns for injection", "toolwall": "toolwall-guard 0.4.0 from 0.6, without its model",
             "pyatr": "pyatr 0.3.1, its stable rules", "pyatr+injection": "pyatr 0.3.1, all rules for injection"}
    columns = [*wanted, *[f"{name}, false" for name in harmless]]
    sets = [*wanted.values(), *harmless.values()]
    flat = [text for texts in sets for text in texts]
    attacks = [text for texts in wanted.values() for text in texts]
    note("\n### Side by side: injection\n")
    note("| engine | " + " | ".join(columns) + " | ms a text |")
    note("|---" * (len(columns) + 2) + "|")
    disguised = {}

    def row(name, hits, took):
        note(f"| {name} | " + " | ".join(share(one) for one in parts(hits, sets)) + f" | {took} |")
        return [text for text, hit in zip(attacks, hits) if hit and text.isascii()]

    disguised[OURS] = (ours, row(OURS, ours(flat), "–"))
    for engine, name in names.items():
        judged = judge(cache, engine, flat)
        if judged is None:
            note(f"| {name} | missing" + " |" * (len(columns) + 1))
            continue
        caught = row(name, judged[0], f"{judged[1]:.2f}")
        if engine in DISGUISED:
            disguised[name] = (lambda texts, engine=engine: judge(cache, engine, texts)[0], caught)
    disguises(note, disguised, transforms)


def disguises(note, disguised, transforms):
    """Of what an engine found, what it still finds; `disguised` has a judge and the texts for each."""
    note("\n### Side by side: of its own hits, still found after a transform\n")
    note("| engine | hits | " + " | ".join(transforms) + " |")
    note("|---" * (len(transforms) + 2) + "|")
    for name, (again, caught) in disguised.items():
        changed = [change(text) for change in transforms.values() for text in caught]
        cells = [share(one)[:4] for one in parts(again(changed), [caught] * len(transforms))] if caught else ["–"] * len(transforms)
        note(f"| {name} | {len(caught)} | {' | '.join(cells)} |")
