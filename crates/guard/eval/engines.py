"""One other engine, in a process of its own: JSON strings in, one a line; a list of labels for each out, one a line, and in the
last line how many milliseconds a text took. `engines.py ENGINE FOLDER`, with the engine's packages in FOLDER.

An engine is run as its own documentation has it, with its own rules. Where a part of it needs a model, the part is left out, and
the table says so. A failure ends the process: no engine is given a number that it did not earn.
"""

import ast
import json
import logging
import pathlib
import resource
import subprocess
import sys
import tempfile
import time


def gitleaks(folder):
    """Its binary over a folder with a file for each text; its own configuration."""
    program = next(path for path in folder.rglob("gitleaks*") if path.is_file() and path.stat().st_size > 1_000_000)
    program.chmod(0o755)

    def judge(texts):
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            (place / "in").mkdir()
            for at, text in enumerate(texts):
                (place / "in" / f"t{at:06}.txt").write_text(text + "\n")
            report = place / "report.json"
            done = subprocess.run([program, "dir", place / "in", "-r", report, "-f", "json", "--no-banner", "-l", "error", "--exit-code", "0"])
            assert done.returncode == 0, "gitleaks failed"
            labels = [[] for _ in texts]
            for found in json.loads(report.read_text()):
                labels[int(pathlib.Path(found["File"]).stem[1:])].append(found["RuleID"])
            return labels
    return judge


def detect_secrets(entropy):
    """Its own detectors, with or without those that go by entropy alone."""
    def of(_folder):
        from detect_secrets.core.secrets_collection import SecretsCollection
        from detect_secrets.settings import default_settings
        with default_settings() as settings:
            plugins = [{"name": name, **more} for name, more in settings.plugins.items()]
        if not entropy:
            plugins = [one for one in plugins if "Entropy" not in one["name"]]
        return by_file({"plugins_used": plugins}, SecretsCollection)
    return of


def by_file(config, collection):
    """A file for each text: the interface that minds the limits of entropy, and that llm-guard itself uses."""
    from detect_secrets.settings import transient_settings

    def judge(texts):
        labels = []
        with transient_settings(config), tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place) / "text.txt"
            for text in texts:
                path.write_text(text + "\n")
                found = collection()
                found.scan_file(str(path))
                labels.append(sorted({secret.type for _, secret in found}))
        return labels
    return judge


def llm_guard(folder):
    """The configuration of its secrets scanner, read from its source: the package as a whole wants a model's runtime."""
    from detect_secrets.core.secrets_collection import SecretsCollection
    source = folder / "llm_guard" / "input_scanners" / "secrets.py"
    tree = ast.parse(source.read_text())
    wanted = next(node for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "_default_detect_secrets_config")
    place = "file://" + str(source.parent / "secrets_plugins")
    config = eval(compile(ast.Expression(wanted.value), str(source), "eval"), {"_custom_plugins_path": place})
    return by_file(config, SecretsCollection)


def presidio(_folder):
    """Its recognisers by pattern and check digit, from score 0.4 on; no names, no model."""
    from presidio_analyzer.predefined_recognizers import (CreditCardRecognizer, EmailRecognizer, IbanRecognizer, IpRecognizer,
                                                          PhoneRecognizer, UsSsnRecognizer)
    kinds = {"CREDIT_CARD": "pii.card", "EMAIL_ADDRESS": "pii.email", "IBAN_CODE": "pii.iban", "IP_ADDRESS": "pii.ip",
             "PHONE_NUMBER": "pii.phone", "US_SSN": "pii.us_ssn"}
    recognisers = [CreditCardRecognizer(), EmailRecognizer(), IbanRecognizer(), IpRecognizer(), PhoneRecognizer(), UsSsnRecognizer()]

    def judge(texts):
        return [sorted({kinds[hit.entity_type] for one in recognisers for hit in one.analyze(text, one.supported_entities, None) or []
                        if hit.score >= 0.4 and hit.entity_type in kinds}) for text in texts]
    return judge


def pyatr(choose):
    """Its rules; the text stands in every field a rule may ask for."""
    def of(_folder):
        from pyatr import AgentEvent, ATREngine
        every, engine = ATREngine(), ATREngine()
        assert every.load_default_rules() > 0, "no rules"
        for rule in every.rules:
            if choose(rule):
                engine.load_rule(rule)
        fields = ["user_input", "tool_response", "tool_args", "agent_output", "tool_description", "tool_name"]

        def judge(texts):
            return [[found.rule_id for found in engine.evaluate(AgentEvent(content=text, fields=dict.fromkeys(fields, text)))] for text in texts]
        return judge
    return of


def toolwall(_folder):
    """All but its model, from its own threshold 0.6 on."""
    from toolwall.detect import CompositeDetector
    detector = CompositeDetector(use_judge=False)
    return lambda texts: [["injection"] if detector.score(text)[0] >= 0.6 else [] for text in texts]


def llamafirewall(_folder):
    """Its scanner of patterns, those for injection; the others need a model."""
    import asyncio
    from llamafirewall import UserMessage
    from llamafirewall.scanners.regex_scanner import RegexScanner
    scanner = RegexScanner()

    async def all_of(texts):
        results = [await scanner.scan(UserMessage(content=text)) for text in texts]
        return [[result.reason] if "Prompt injection" in result.reason else [] for result in results]
    return lambda texts: asyncio.run(all_of(texts))


ENGINES = {
    "gitleaks": gitleaks,
    "detect-secrets": detect_secrets(entropy=False),
    "detect-secrets+entropy": detect_secrets(entropy=True),
    "llm-guard": llm_guard,
    "presidio": presidio,
    "pyatr": pyatr(lambda rule: rule.status == "stable"),
    "pyatr+injection": pyatr(lambda rule: rule.status in ("stable", "experimental") and rule.tags.get("category") == "prompt-injection"),
    "toolwall": toolwall,
    "llamafirewall": llamafirewall,
}


def spent():
    """Seconds of processor time, those of programs that were started included."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def main():
    logging.disable(logging.CRITICAL)
    engine, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    sys.path.insert(0, str(folder))
    judge = ENGINES[engine](folder)
    texts = [json.loads(line) for line in sys.stdin]
    judge(texts[:1])
    began = spent()
    labels = judge(texts)
    took = (spent() - began) * 1000 / max(1, len(texts))
    for one in labels:
        print(json.dumps(one))
    print(json.dumps(took))


main()
