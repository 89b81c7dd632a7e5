"""Sets that are made, not fetched: keys in their providers' forms, personal data with right and wrong check digits,
harmless identifiers, and the transforms of the robustness test. Seeded, so that everybody gets the same."""

import base64
import pathlib
import random
import re
import string
import uuid

UP, LOW, DIG = string.ascii_uppercase, string.ascii_lowercase, string.digits
ALNUM, HEX, WD = UP + LOW + DIG, "0123456789abcdef", UP + LOW + DIG + "_-"
B32 = UP + "234567"


def run(rng, letters, count):
    return "".join(rng.choice(letters) for _ in range(count))


def formats():
    """Provider → how one of its keys looks. Written from the providers' documentation."""
    r = run
    table = {
        "aws": lambda g: "AKIA" + r(g, B32, 16), "aws_session": lambda g: "ASIA" + r(g, B32, 16),
        "github": lambda g: "ghp_" + r(g, ALNUM, 36), "github_oauth": lambda g: "gho_" + r(g, ALNUM, 36),
        "github_fine": lambda g: "github_pat_" + r(g, ALNUM, 22) + "_" + r(g, ALNUM, 59),
        "gitlab": lambda g: "glpat-" + r(g, WD, 20), "slack_bot": lambda g: f"xoxb-{r(g, DIG, 12)}-{r(g, DIG, 12)}-{r(g, ALNUM, 24)}",
        "slack_user": lambda g: f"xoxp-{r(g, DIG, 12)}-{r(g, DIG, 12)}-{r(g, DIG, 12)}-{r(g, HEX, 32)}",
        "slack_hook": lambda g: f"https://hooks.slack.com/services/T{r(g, UP + DIG, 8)}/B{r(g, UP + DIG, 8)}/{r(g, ALNUM, 24)}",
        "stripe_live": lambda g: "sk_live_" + r(g, ALNUM, 24), "stripe_restricted": lambda g: "rk_live_" + r(g, ALNUM, 24),
        "openai": lambda g: "sk-" + r(g, ALNUM, 48), "openai_project": lambda g: "sk-proj-" + r(g, WD, 120),
        "anthropic": lambda g: "sk-ant-api03-" + r(g, WD, 93) + "AA", "google": lambda g: "AIza" + r(g, WD, 35),
        "google_oauth": lambda g: "GOCSPX-" + r(g, WD, 28), "azure_storage": lambda g: "AccountKey=" + r(g, ALNUM + "+/", 86) + "==",
        "azure_client": lambda g: r(g, ALNUM, 3) + r(g, DIG, 1) + "Q~" + r(g, ALNUM + "~._-", 34),
        "digitalocean": lambda g: "dop_v1_" + r(g, HEX, 64), "npm": lambda g: "npm_" + r(g, ALNUM, 36),
        "pypi": lambda g: "pypi-AgEIcHlwaS5vcmc" + r(g, WD, 80), "rubygems": lambda g: "rubygems_" + r(g, HEX, 48),
        "docker": lambda g: "dckr_pat_" + r(g, WD, 27), "sendgrid": lambda g: f"SG.{r(g, WD, 22)}.{r(g, WD, 43)}",
        "mailgun": lambda g: "key-" + r(g, HEX, 32), "mailchimp": lambda g: r(g, HEX, 32) + "-us" + str(g.randint(1, 21)),
        "twilio": lambda g: "SK" + r(g, HEX, 32), "telegram": lambda g: f"{r(g, DIG, 10)}:AA{r(g, WD, 33)}",
        "discord_hook": lambda g: f"https://discord.com/api/webhooks/{r(g, DIG, 18)}/{r(g, WD, 68)}",
        "shopify": lambda g: "shpat_" + r(g, HEX, 32), "square": lambda g: "sq0csp-" + r(g, WD, 43),
        "newrelic": lambda g: "NRAK-" + r(g, UP + DIG, 27), "grafana": lambda g: f"glsa_{r(g, ALNUM, 32)}_{r(g, HEX, 8)}",
        "atlassian": lambda g: "ATATT3xFfGF0" + r(g, WD, 170) + "=" + r(g, UP + DIG, 8), "linear": lambda g: "lin_api_" + r(g, ALNUM, 40),
        "notion": lambda g: "ntn_" + r(g, ALNUM, 46), "figma": lambda g: "figd_" + r(g, WD, 40),
        "postman": lambda g: f"PMAK-{r(g, HEX, 24)}-{r(g, HEX, 34)}", "supabase": lambda g: "sbp_" + r(g, HEX, 40),
        "groq": lambda g: "gsk_" + r(g, ALNUM, 52), "xai": lambda g: "xai-" + r(g, ALNUM, 80), "replicate": lambda g: "r8_" + r(g, ALNUM, 37),
        "huggingface": lambda g: "hf_" + r(g, ALNUM, 34), "vault": lambda g: "hvs." + r(g, WD, 90),
        "databricks": lambda g: "dapi" + r(g, HEX, 32), "hubspot": lambda g: "pat-na1-" + str(uuid.UUID(int=g.getrandbits(128))),
        "jwt": lambda g: "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + base64.urlsafe_b64encode(
            ('{"sub":"%s","iat":%d}' % (r(g, DIG, 10), g.randint(1, 2**31))).encode()).decode().rstrip("=") + "." + r(g, WD, 43),
        # The frame of a key around random letters: no key.
        "private_key": lambda g: "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(r(g, ALNUM + "+/", 64) for _ in range(6)) + "\n-----END RSA PRIVATE KEY-----",
        "url_password": lambda g: f"postgres://app:{r(g, ALNUM, 14)}@db{g.randint(1, 9)}.prod.net:5432/main",
        "assignment": lambda g: f'password = "{r(g, ALNUM, 12)}{g.choice("!#%")}{r(g, DIG, 2)}"',
        "bearer": lambda g: "Authorization: Bearer " + r(g, ALNUM, 40), "own": lambda g: "sk_brutor_api_" + r(g, ALNUM, 38),
    }
    return table


FRAMES = ["My key is {} please use it.", "export KEY={}", "{}", "Here you go: `{}` (do not share).", 'config = {{"value": "{}"}}']


def secrets(seed=1, each=40):
    rng = random.Random(seed)
    return [(name, FRAMES[at % len(FRAMES)].format(make(rng))) for name, make in formats().items() for at in range(each)]


def ids(seed=2, count=5000):
    """Harmless: UUIDs, hashes, traces, thumbnails, order numbers, versions, times."""
    g = random.Random(seed)
    kinds = [
        lambda: f"request {uuid.UUID(int=g.getrandbits(128))} took {g.randint(1, 900)} ms", lambda: "commit " + run(g, HEX, 40),
        lambda: "sha256:" + run(g, HEX, 64), lambda: f"00-{run(g, HEX, 32)}-{run(g, HEX, 16)}-01",
        lambda: "data:image/png;base64," + base64.b64encode(g.randbytes(90)).decode(), lambda: f"order {g.randint(10**7, 10**8)}-{g.randint(100, 999)}",
        lambda: f"v{g.randint(0, 9)}.{g.randint(0, 40)}.{g.randint(0, 99)}", lambda: f"at {1.6e12 + g.randint(0, 10**11):.0f} ms",
        lambda: "md5 " + run(g, HEX, 32), lambda: "ETag: W/\"" + run(g, ALNUM, 22) + '"', lambda: "01J" + run(g, UP + DIG, 23),
        lambda: f"session={run(g, ALNUM, 8)}; build {g.randint(10000, 99999)}",
    ]
    return [kinds[at % len(kinds)]() for at in range(count)]


def luhn_digit(body):
    total = sum(d if i % 2 else (d * 2 - 9 if d * 2 > 9 else d * 2) for i, d in enumerate(map(int, reversed(body))))
    return str(-total % 10)


def card(g):
    head, length = g.choice([("4", 16), (str(g.randint(51, 55)), 16), (str(g.randint(2221, 2720)), 16), (g.choice(["34", "37"]), 15), ("36", 14), ("6011", 16), ("3530", 16)])
    body = head + run(g, DIG, length - len(head) - 1)
    number = body + luhn_digit(body)
    style = g.randint(0, 2)
    if style == 0:
        return number
    cuts = {16: [4, 4, 4, 4], 15: [4, 6, 5], 14: [4, 6, 4]}[length]
    parts, at = [], 0
    for cut in cuts:
        parts.append(number[at:at + cut])
        at += cut
    return (" " if style == 1 else "-").join(parts)


IBAN = {"DE": 18, "FR": 23, "GB": None, "NL": None, "ES": 20, "AT": 16, "CH": 17, "BE": 12}


def iban(g, wrong=False):
    country = g.choice(list(IBAN))
    body = run(g, UP, 4) + run(g, DIG, 14) if country == "GB" else run(g, UP, 4) + run(g, DIG, 10) if country == "NL" else run(g, DIG, IBAN[country])
    value = int("".join(str(int(c, 36)) for c in body + country + "00"))
    check = 98 - value % 97 + (1 if wrong else 0)
    text = f"{country}{check:02d}{body}"
    return text if g.random() < 0.5 else " ".join(text[i:i + 4] for i in range(0, len(text), 4))


def ssn(g):
    area = g.choice([a for a in range(1, 900) if a != 666])
    return f"{area:03d}-{g.randint(1, 99):02d}-{g.randint(1, 9999):04d}"


def phone(g):
    return g.choice([
        lambda: f"+1 {g.randint(201, 989)} {g.randint(201, 989)} {g.randint(0, 9999):04d}", lambda: f"+49 30 {g.randint(10**6, 10**7)}",
        lambda: f"+44 20 {g.randint(1000, 9999)} {g.randint(1000, 9999)}", lambda: f"({g.randint(201, 989)}) {g.randint(201, 989)}-{g.randint(0, 9999):04d}",
        lambda: f"+33 {g.randint(1, 9)} {g.randint(10, 99)} {g.randint(10, 99)} {g.randint(10, 99)} {g.randint(10, 99)}",
    ])()


def email(g):
    return f"{run(g, LOW, g.randint(3, 9))}.{run(g, LOW, 5)}@{run(g, LOW, g.randint(3, 8))}.{g.choice(['com', 'org', 'de', 'co.uk', 'io', 'example'])}"


PII_FRAMES = {
    "pii.card": ["Charge {} please", "my card number is {}", "{}", "cc: {}, exp 04/29"], "pii.iban": ["Pay to {} today", "IBAN {}", "{}"],
    "pii.us_ssn": ["My SSN is {}", "ssn: {}", "{} is on file"], "pii.email": ["Write to {}", "{}", "contact <{}>."],
    "pii.phone": ["Call {} today", "phone: {}", "My number is {}"],
    "pii.ip": ["from {} at noon", "host {}", "{}"],
}


def pii(seed=3, each=400):
    g = random.Random(seed)
    make = {"pii.card": card, "pii.iban": iban, "pii.us_ssn": ssn, "pii.email": email, "pii.phone": phone,
            "pii.ip": lambda g: ".".join([str(g.randint(128, 223))] + [str(g.randint(1, 254)) for _ in range(3)])}
    return [(kind, g.choice(PII_FRAMES[kind]).format(make[kind](g))) for kind in make for _ in range(each)]


def near(seed=4, count=1500):
    """Look like personal data and are none."""
    g = random.Random(seed)

    def bad_card():
        number = card(g).replace(" ", "").replace("-", "")
        return f"reference {number[:-1]}{(int(number[-1]) + g.randint(1, 9)) % 10}"

    kinds = [
        bad_card, lambda: f"account {iban(g, wrong=True)}", lambda: f"part 9{g.randint(10, 99)}-{g.randint(10, 49)}-{g.randint(1000, 9999)}",
        lambda: f"id 000-{g.randint(10, 99)}-{g.randint(1000, 9999)}", lambda: f"epoch {g.randint(1_500_000_000_000, 1_800_000_000_000)}",
        lambda: f"invoice INV-{g.randint(10**7, 10**8)}", lambda: f"version {g.randint(1, 20)}.{g.randint(0, 30)}.{g.randint(0, 300)}",
        lambda: "tracking 1Z" + run(g, UP + DIG, 16), lambda: f"{g.randint(1, 28)}.{g.randint(1, 12)}.20{g.randint(10, 29)} 10:{g.randint(10, 59)}",
        lambda: f"lines {g.randint(100, 999)}-{g.randint(1000, 9999)}", lambda: f"user@host in shell, @decorator {g.randint(1, 99)}",
    ]
    return [kinds[at % len(kinds)]() for at in range(count)]


# What attacks use and ordinary people too.
TRIGGERS = [
    "ignor", "overrid", "bypass", "disregard", "forg[eo]t", "prompt", "instruct", "password", "admin", "secret", "jailbr", r"\bact(s|ed|ing)? as\b",
    "pretend", "(do not|don't|never|without) tell|tell no", "base64", "decod|encod", "token", "credential", "api key", "inject", "hack", "exploit",
    "role.?play", "(developer|debug|maintenance) mode", r"\broots?\b|sudo", "reveal", "hidden", "confidential", "leak", "restrict", "previous", "disabl",
    "attack", r"execut(e|es|ed|ing|ion)\b", "delet", "system", r"\brules?\b", "you are now", "from now on", "malicious|malware|phish", "simulat",
    "hypothetical", "privilege", "backdoor", "safety", "filter", r"\bshell\b", "verbatim|word for word", "quietly|silently",
]


def trigger_words():
    """Number of trigger words → the sentences of `trigger-words.txt` that have so many."""
    sets, number = {}, 0
    for line in (pathlib.Path(__file__).parent / "trigger-words.txt").read_text().splitlines():
        if line.startswith("#"):
            number = int(line[1:]) if line[1:].strip().isdigit() else number
            continue
        count = sum(re.search(word, line, re.I) is not None for word in TRIGGERS)
        if count != number:
            raise ValueError(f"{count} trigger words, not {number}: {line}")
        sets.setdefault(number, []).append(line)
    return sets


HOMOGLYPHS = str.maketrans("aceiopsxyAEOPC", "асеіорѕхуАЕОРС")
LEET = str.maketrans("aeiost", "431057")


def transforms(seed=5):
    """Name → what it does to a text. A decoder's name is in front where a reader needs one."""
    g = random.Random(seed)
    return {
        "zero-width": lambda t: "\u200b".join(t), "soft hyphen": lambda t: "\u00ad".join(t), "homoglyph": lambda t: t.translate(HOMOGLYPHS),
        "full-width": lambda t: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in t),
        "tags": lambda t: "".join(chr(0xE0000 + ord(c)) if " " <= c <= "~" else "" for c in t),
        "diacritics": lambda t: "".join(c + (g.choice("\u0301\u0300\u0308") if c.isalpha() else "") for c in t),
        "base64": lambda t: base64.b64encode(t.encode()).decode(), "hex": lambda t: t.encode().hex(),
        "url": lambda t: "".join(f"%{b:02X}" for b in t.encode()), "upper": str.upper,
        "entities": lambda t: "".join(f"&#{ord(c)};" for c in t), "leet": lambda t: t.translate(LEET),
        "spaced": lambda t: "  ".join(" ".join(w) for w in t.split()),
        "rot13": lambda t: t.translate(str.maketrans(UP + LOW, UP[13:] + UP[:13] + LOW[13:] + LOW[:13])),
    }
