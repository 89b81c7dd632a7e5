"""Delegation chains, in another language: writes delegation.json, which the gateway's tests replay.

Python's standard library alone. Run it from anywhere: `python3 docs/vectors/delegation.py > docs/vectors/delegation.json`.
"""
import base64
import hashlib
import hmac
import json

MASTER = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
OLDER = "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
STRANGE = "404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
NOON = 1_764_504_000  # 2025-11-30T12:00:00Z
MIDNIGHT = 1_764_547_200  # 2025-12-01T00:00:00Z
USER, A, B, C, MALLORY = ("prn-01USER", "prn-01A", "prn-01B", "prn-01C", "prn-01MALLORY")
FIELDS = ["root", "parent", "depth", "actor", "subject", "chain"]


def expand(key, info):
    """HKDF-Expand (RFC 5869), one block."""
    return hmac.new(key, info + b"\1", hashlib.sha256).digest()


def key_of(master, tenant, day):
    """HKDF of the master key as it is configured, then of what comes of it, for the tenant and the day."""
    root = expand(hmac.new(b"chancery", bytes.fromhex(master), hashlib.sha256).digest(), b"master key v1")
    return expand(root, b"delegation v1" + b"\0" + tenant.encode() + b"\0" + str(day).encode())


def key_id(key, day):
    return f"{day}-{hmac.new(key, b'key id', hashlib.sha256).digest()[:6].hex()}"


def sign(headers, audience, issued, tenant="acme", master=MASTER, day=None, credentials=None):
    """With one credential for each hop, the way the gateway signs (v2); without, the way it used to (v1)."""
    day = issued // 86_400 if day is None else day
    key = key_of(master, tenant, day)
    name = key_id(key, day)
    fields = [headers[f] if f in headers else headers["actor"] for f in FIELDS]
    version, more = ("v1", []) if credentials is None else ("v2", ["+".join(credentials)])
    text = "\n".join([version, name, tenant, *fields, audience, str(issued), *more])
    mac = hmac.new(key, text.encode(), hashlib.sha256).digest()
    proof = base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
    return {**headers, "sig": ".".join([version, name, str(issued), audience, *more, proof])}


def chain(*hops, root="call-1", parent=None):
    """Headers of a chain over these (principal, card), unsigned."""
    actor = f"agent:{hops[-1][0]}"
    parent = parent or f"call-{len(hops)}"
    return {"root": root, "parent": parent, "depth": str(len(hops)), "actor": actor,
            "subject": f"agent:{hops[0][0]}", "chain": ",".join(f"{p}>{c}" for p, c in hops)}


CASES = []


def case(name, headers, expect="ok", presenter=A, card="b", tenant="acme", now=NOON + 5, max_depth=4):
    subject = headers.get("subject", headers.get("actor"))
    CASES.append({"name": name, "headers": headers, "tenant": tenant, "presenter": presenter, "card": card,
                  "max_depth": max_depth, "now": now, "expect": expect, "subject": subject})


ONE = chain((USER, "a"))
GOOD = sign(ONE, A, NOON)
TWO = chain((USER, "a"), (A, "b"))
LONG = [(f"prn-01P{n}", f"card-{n}") for n in range(9)]


def deep(n, **kw):
    return sign(chain(*LONG[:n]), A, NOON, **kw)


case("one hop", GOOD)
case("two hops", sign(TWO, B, NOON), presenter=B, card="c")
case("three hops", sign(chain((USER, "a"), (A, "b"), (B, "c")), C, NOON), presenter=C, card="d")
case("one hop and what proved its caller", sign(ONE, A, NOON, credentials=["key-01U"]))
case("three hops and what proved their callers, one unknown",
     sign(chain((USER, "a"), (A, "b"), (B, "c")), C, NOON, credentials=["key-01U", "-", "iss-01B"]), presenter=C, card="d")
case("no subject means the actor", sign({k: v for k, v in ONE.items() if k != "subject"}, A, NOON))
case("subject taken away where it is the actor", {k: v for k, v in GOOD.items() if k != "subject"})
case("echoed on another call of the same agent", GOOD, card="c")
case("on its last second", GOOD, now=NOON + 720)
case("from a clock that is ahead by the leeway", GOOD, now=NOON - 60)
case("signed yesterday, just before midnight", sign(ONE, A, MIDNIGHT - 10), now=MIDNIGHT + 300)
case("from a replica that is past midnight already", sign(ONE, A, MIDNIGHT + 20), now=MIDNIGHT - 20)
case("signed under the master key before this one", sign(ONE, A, NOON, master=OLDER))
case("three delegations where four are allowed", deep(3))
case("seven delegations where eight are allowed", deep(7), max_depth=8)
for field, value in [("root", "call-2"), ("parent", "call-0"), ("depth", "2"), ("actor", f"agent:{MALLORY}"),
                     ("subject", f"agent:{MALLORY}"), ("chain", f"{MALLORY}>a")]:
    case(f"{field} altered", {**GOOD, field: value}, "mac")
PARTS = GOOD["sig"].split(".")


def resig(at, value):
    return {**GOOD, "sig": ".".join(PARTS[:at] + [value] + PARTS[at + 1:])}


case("version altered", resig(0, "v2"), "signature")
case("key id altered", resig(1, PARTS[1][:-1] + ("0" if PARTS[1][-1] != "0" else "1")), "key")
case("time of issue altered", resig(2, str(NOON + 1)), "mac")
case("time of issue written otherwise", resig(2, f"+{NOON}"), "mac")
case("audience altered to the presenter", resig(3, MALLORY), "mac", presenter=MALLORY)
case("proof altered", resig(4, "A" + PARTS[4][1:] if PARTS[4][0] != "A" else "B" + PARTS[4][1:]), "mac")
case("proof cut short", resig(4, PARTS[4][:-3]), "mac")
case("no proof", resig(4, ""), "mac")
case("proof that is no base64url", resig(4, PARTS[4][:-1] + "!"), "signature")
case("proof with padding", resig(4, PARTS[4] + "="), "signature")
case("a part too few", {**GOOD, "sig": ".".join(PARTS[:4])}, "signature")
case("a part too many", {**GOOD, "sig": GOOD["sig"] + ".x"}, "signature")
KNOWN = sign(TWO, B, NOON, credentials=["key-01U", "key-01A"])
KNOWN_PARTS = KNOWN["sig"].split(".")


def known(at, value):
    return {**KNOWN, "sig": ".".join(KNOWN_PARTS[:at] + ([] if value is None else [value]) + KNOWN_PARTS[at + 1:])}


for name, headers, why in [
    ("a credential exchanged", known(4, "key-01X+key-01A"), "mac"),
    ("credentials in another order", known(4, "key-01A+key-01U"), "mac"),
    ("a credential left out", known(4, "key-01A"), "mac"),
    ("credentials made unknown", known(4, "-+-"), "mac"),
    ("credentials empty", known(4, ""), "field"),
    ("credentials taken away, under v1", {**KNOWN, "sig": ".".join(["v1"] + KNOWN_PARTS[1:4] + KNOWN_PARTS[5:])}, "mac"),
    ("credentials taken away", known(4, None), "signature"),
    ("a version that nobody knows", known(0, "v3"), "signature"),
    ("credentials under v1", known(0, "v1"), "signature"),
    ("fewer credentials than hops", sign(TWO, B, NOON, credentials=["key-01U"]), "hops"),
    ("more credentials than hops", sign(TWO, B, NOON, credentials=["key-01U", "key-01A", "key-01B"]), "hops"),
]:
    case(name, headers, why, presenter=B, card="c")
for field in ["root", "parent", "depth", "actor", "chain", "sig"]:
    case(f"{field} missing", {k: v for k, v in GOOD.items() if k != field}, "incomplete")
    case(f"{field} empty", {**GOOD, field: ""}, "incomplete")
case("subject taken away where it is not the actor",
     {k: v for k, v in sign(TWO, B, NOON).items() if k != "subject"}, "mac", presenter=B, card="c")
case("only the root", {"root": "call-1"}, "incomplete")
case("a header twice", {**GOOD, "root": ["call-1", "call-1"]}, "incomplete")
case("a header that nobody knows", {**GOOD, "note": "x"}, "incomplete")
case("stolen: presented by another principal", GOOD, "audience", presenter=MALLORY)
case("stolen: presented by its own subject", GOOD, "audience", presenter=USER)
case("another tenant's", sign(ONE, A, NOON, tenant="globex"), "key")
case("presented to another tenant", GOOD, "key", tenant="globex")
case("signed for another tenant under this one's key id",
     resig(4, sign(ONE, A, NOON, tenant="globex")["sig"].split(".")[4]), "mac")
case("under a master key that is not ours", sign(ONE, A, NOON, master=STRANGE), "key")
case("a second too old", GOOD, "expired", now=NOON + 721)
case("a second too early", GOOD, "future", now=NOON - 61)
case("signed yesterday at noon", sign(ONE, A, NOON - 86_400), "expired")
case("signed with yesterday's key and today's time", sign(ONE, A, NOON, day=NOON // 86_400 - 1))
case("signed with the key of the day before", sign(ONE, A, NOON, day=NOON // 86_400 - 2), "key")
case("signed with tomorrow's key", sign(ONE, A, NOON, day=NOON // 86_400 + 1), "key")
case("as deep as is allowed", deep(4), "depth")
case("deeper than is allowed", deep(5), "depth")
case("no delegation is allowed", GOOD, "depth", max_depth=0)
case("eight delegations are the end, whatever is allowed", deep(8), "depth", max_depth=64)
case("nine hops", deep(9), "hops", max_depth=64)
case("back to a card in it", sign(TWO, B, NOON), "loop", presenter=B, card="a")
case("an agent that calls itself", GOOD, "loop", card="a")
case("depth that the hops are not", sign({**ONE, "depth": "2"}, A, NOON), "hops")
case("depth written otherwise", sign({**ONE, "depth": "01"}, A, NOON), "hops")
case("actor that is not in the last hop", sign({**ONE, "actor": f"agent:{B}", "subject": f"agent:{USER}"}, A, NOON),
     "hops")
case("subject that is not in the first hop", sign({**TWO, "subject": f"agent:{A}"}, B, NOON), "hops", presenter=B,
     card="c")
case("hops that are none", sign({**ONE, "chain": "a"}, A, NOON), "hops")
case("hops in another order", {**sign(TWO, B, NOON), "chain": f"{A}>b,{USER}>a"}, "mac", presenter=B, card="c")
case("a hop left out", {**sign(TWO, B, NOON), "chain": f"{A}>b", "depth": "1"}, "mac", presenter=B, card="c")
case("the proof of a shorter chain", {**sign(TWO, B, NOON), "sig": GOOD["sig"]}, "mac", presenter=A, card="c")
case("a line break in a field", {**GOOD, "root": "call-1\r\nx"}, "header")
case("a line feed in a field", {**GOOD, "actor": "agent:prn-01USER\nagent:x"}, "header")
case("a blank in a field", sign({**ONE, "root": "call 1"}, A, NOON), "field")
case("a letter outside ASCII", {**GOOD, "root": "cäll-1"}, "incomplete")
case("a field longer than any", {**GOOD, "root": "a" * 2049}, "incomplete")
case("audience empty", sign(ONE, "", NOON), "field", presenter="")

WRITTEN = [
    {"tenant": "acme", "audience": A, "now": NOON, "hops": [[USER, "a", "call-1", "key-01U"]],
     "headers": sign(chain((USER, "a")), A, NOON, credentials=["key-01U"])},
    {"tenant": "acme", "audience": C, "now": NOON,
     "hops": [[USER, "a", "call-1", "iss-01U"], [A, "b", "call-2", None], [B, "c", "call-3", "key-01B"]],
     "headers": sign(chain((USER, "a"), (A, "b"), (B, "c")), C, NOON, credentials=["iss-01U", "-", "key-01B"])},
    {"tenant": "globex", "audience": B, "now": MIDNIGHT, "hops": [[A, "b", "7f3c", "key-01A"]],
     "headers": sign(chain((A, "b"), root="7f3c", parent="7f3c"), B, MIDNIGHT, tenant="globex",
                     credentials=["key-01A"])},
]

print(json.dumps({
    "about": "Delegation chains and what becomes of them: docs/guides/delegation.md. Header names are without "
             "x-brutor-delegation-. `expect`: ok, or the reason that the record gives; `header` is what no HTTP message "
             "can carry, `incomplete` is answered with 400, all else with 403.",
    "master_key": MASTER, "previous_master_keys": [OLDER], "written": WRITTEN, "cases": CASES,
}, indent=1, ensure_ascii=False))
