"""Writes vectors.json: tokens of a tenant's issuer, good and bad, for the test beside it.

Run by hand (needs the package `cryptography`); every run makes new keys. A vector is a name, a token and, for good
ones, the principal and groups it proves. Times are around NOW, which is the test's clock.
"""

import base64
import hashlib
import hmac
import json
import pathlib

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

NOW = 1_800_000_000
ISS = "https://idp.test"
AUD = "https://gw.test/a2a/acme"


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value, size=None):
    return b64(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def dump(value):
    return value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()


rsa_key = rsa.generate_private_key(65537, 2048)
weak_rsa = rsa.generate_private_key(65537, 1024)
other_rsa = rsa.generate_private_key(65537, 2048)
ec_key = ec.generate_private_key(ec.SECP256R1())
p384 = ec.generate_private_key(ec.SECP384R1())
ed_key = ed25519.Ed25519PrivateKey.generate()
foreign = ed25519.Ed25519PrivateKey.generate()


def raw(key):
    return key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def rsa_jwk(key, kid, **more):
    numbers = key.public_key().public_numbers()
    return {"kty": "RSA", "kid": kid, "n": number(numbers.n), "e": number(numbers.e), **more}


def ec_jwk(key, kid, crv, size, **more):
    numbers = key.public_key().public_numbers()
    return {"kty": "EC", "crv": crv, "kid": kid, "x": number(numbers.x, size), "y": number(numbers.y, size), **more}


def ed_jwk(key, kid, **more):
    return {"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": b64(raw(key)), **more}


JWKS = [
    rsa_jwk(rsa_key, "rs-1", alg="RS256", use="sig"),
    ec_jwk(ec_key, "es-1", "P-256", 32, use="sig"),
    ed_jwk(ed_key, "ed-1", alg="EdDSA", use="sig"),
    rsa_jwk(weak_rsa, "weak"),
    rsa_jwk(other_rsa, "for-encryption", use="enc"),
    ec_jwk(p384, "p384", "P-384", 48),
]


def rs256(data, key=rsa_key, digest=hashes.SHA256):
    return key.sign(data, padding.PKCS1v15(), digest())


def ps256(data):
    return rsa_key.sign(data, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())


def es256(data, key=ec_key, size=32, digest=hashes.SHA256):
    r, s = utils.decode_dss_signature(key.sign(data, ec.ECDSA(digest())))
    return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def es256_der(data):
    return ec_key.sign(data, ec.ECDSA(hashes.SHA256()))


def eddsa(data, key=ed_key):
    return key.sign(data)


def hs256(secret):
    return lambda data: hmac.new(secret, data, hashlib.sha256).digest()


CLAIMS = {"iss": ISS, "aud": AUD, "sub": "u1", "iat": NOW, "exp": NOW + 600}
HEADERS = {"rs": {"alg": "RS256", "kid": "rs-1", "typ": "JWT"}, "es": {"alg": "ES256", "kid": "es-1", "typ": "JWT"},
           "ed": {"alg": "EdDSA", "kid": "ed-1", "typ": "JWT"}}


def token(claims=None, header=None, sign=eddsa):
    head = HEADERS["ed"] if header is None else header
    body = CLAIMS if claims is None else claims
    signed = f"{b64(dump(head))}.{b64(dump(body))}"
    return f"{signed}.{b64(sign(signed.encode()))}"


def said(**more):
    return {key: value for key, value in {**CLAIMS, **more}.items() if value is not None}


def head(**more):
    return {key: value for key, value in {**HEADERS["ed"], **more}.items() if value is not None}


GOOD, BAD = [], []


def good(name, text, principal="bot", groups=()):
    GOOD.append({"name": name, "token": text, "principal": principal, "groups": list(groups)})


def bad(name, text):
    BAD.append({"name": name, "token": text})


good("RS256", token(header=HEADERS["rs"], sign=rs256))
good("ES256", token(header=HEADERS["es"], sign=es256))
good("EdDSA", token())
good("Ed25519, the name of RFC 9864", token(header=head(alg="Ed25519")))
good("typ at+jwt", token(header=head(typ="at+jwt")))
good("typ with its media type", token(header=head(typ="application/at+JWT")))
good("no typ", token(header=head(typ=None)))
good("one of several audiences", token(said(aud=["https://elsewhere.test", AUD])))
good("groups", token(said(groups=["a", "b"])), groups=["a", "b"])
good("one group as a text", token(said(groups="a")), groups=["a"])
good("another subject", token(said(sub="u2")), principal="other")
good("times with fractions", token(said(iat=NOW - 0.5, exp=NOW + 600.5)))
good("expired within the leeway", token(said(iat=NOW - 600, exp=NOW - 59)))
good("not yet valid within the leeway", token(said(nbf=NOW + 60)))
good("header members that say nothing about keys", token(header=head(x5t="AQAB", nonce="n", cty="x")))

# The algorithm is the key's.
bad("alg none, no signature", token(header=head(alg="none"), sign=lambda _: b""))
bad("alg None", token(header=head(alg="None"), sign=lambda _: b"x"))
bad("alg nOnE", token(header=head(alg="nOnE"), sign=eddsa))
bad("alg none written with escapes", token(header=b'{"alg":"\\u006eone","typ":"JWT","kid":"ed-1"}', sign=lambda _: b""))
bad("alg none with a good signature", token(header=head(alg="none")))
bad("alg missing", token(header=head(alg=None)))
bad("alg null", token(header=b'{"alg":null,"kid":"ed-1"}'))
bad("alg a list", token(header=head(alg=["EdDSA"])))
bad("alg empty", token(header=head(alg="")))
bad("alg in lower case", token(header=head(alg="eddsa")))
bad("HS256 with the RSA modulus", token(header={**HEADERS["rs"], "alg": "HS256"}, sign=hs256(JWKS[0]["n"].encode())))
pem = rsa_key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
bad("HS256 with the RSA key as PEM", token(header={**HEADERS["rs"], "alg": "HS256"}, sign=hs256(pem)))
bad("HS256 with the Ed25519 key", token(header=head(alg="HS256"), sign=hs256(raw(ed_key))))
bad("HS256 with the Ed25519 key as text", token(header=head(alg="HS256"), sign=hs256(JWKS[2]["x"].encode())))
bad("HS256 with an empty secret", token(header=head(alg="HS256"), sign=hs256(b"")))
bad("RS256 said of an Ed25519 key", token(header=head(alg="RS256")))
bad("EdDSA said of an RSA key", token(header=head(kid="rs-1")))
bad("RS256 by the key of ES256", token(header={**HEADERS["rs"], "kid": "es-1"}, sign=rs256))
bad("PS256", token(header={**HEADERS["rs"], "alg": "PS256"}, sign=ps256))
bad("RS256 with a PSS signature", token(header=HEADERS["rs"], sign=ps256))
bad("RS512", token(header={**HEADERS["rs"], "alg": "RS512"}, sign=lambda d: rs256(d, digest=hashes.SHA512)))
bad("RS256 over SHA-1", token(header=HEADERS["rs"], sign=lambda d: rs256(d, digest=hashes.SHA1)))
bad("ES384", token(header={"alg": "ES384", "kid": "p384"}, sign=lambda d: es256(d, p384, 48, hashes.SHA384)))
bad("ES256 by a key of another curve", token(header={"alg": "ES256", "kid": "p384"}, sign=lambda d: es256(d, p384, 48)))

# Signatures.
bad("signature missing", token().rsplit(".", 1)[0] + ".")
bad("signature of zeros, EdDSA", token(sign=lambda _: bytes(64)))
bad("signature of zeros, ES256", token(header=HEADERS["es"], sign=lambda _: bytes(64)))
bad("r of zero", token(header=HEADERS["es"], sign=lambda d: bytes(32) + es256(d)[32:]))
bad("s of zero", token(header=HEADERS["es"], sign=lambda d: es256(d)[:32] + bytes(32)))
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
bad("r of the order", token(header=HEADERS["es"], sign=lambda d: ORDER.to_bytes(32, "big") + es256(d)[32:]))
bad("ES256 as DER", token(header=HEADERS["es"], sign=es256_der))
bad("signature of zeros, RS256", token(header=HEADERS["rs"], sign=lambda _: bytes(256)))
bad("signature of one, RS256", token(header=HEADERS["rs"], sign=lambda _: bytes(255) + b"\x01"))
bad("a short signature", token(sign=lambda d: eddsa(d)[:63]))
bad("a long signature", token(sign=lambda d: eddsa(d) + b"\x00"))
ED_ORDER = 2**252 + 27742317777372353535851937790883648493


def malleable(data):
    signature = eddsa(data)
    s = int.from_bytes(signature[32:], "little") + ED_ORDER
    return signature[:32] + s.to_bytes(32, "little")


bad("EdDSA with s beyond the order", token(sign=malleable))
bad("another claim under the signature", ".".join([token().split(".")[0], b64(dump(said(sub="u2"))), token().split(".")[2]]))
bad("another header under the signature", ".".join([b64(dump(head(x="y")))] + token().split(".")[1:]))

# Keys.
bad("a key of another tenant's issuer", token(sign=lambda d: eddsa(d, foreign)))
bad("a key of another tenant's issuer, by its name", token(header=head(kid="gx-1"), sign=lambda d: eddsa(d, foreign)))
bad("a weak RSA key", token(header={"alg": "RS256", "kid": "weak"}, sign=lambda d: rs256(d, weak_rsa)))
bad("a key for encryption", token(header={"alg": "RS256", "kid": "for-encryption"}, sign=lambda d: rs256(d, other_rsa)))
bad("kid missing", token(header=head(kid=None)))
bad("kid empty", token(header=head(kid="")))
bad("kid a number", token(header=head(kid=1)))
bad("kid a list", token(header=head(kid=["ed-1"])))
bad("kid in another case", token(header=head(kid="ED-1")))
bad("kid with a blank", token(header=head(kid="ed-1 ")))
for name, kid in [("a path", "../../../../dev/null"), ("SQL", "ed-1' OR '1'='1"), ("a URL", "https://attacker.test/k"),
                  ("a command", "ed-1|sleep 5"), ("a zero", "ed-1\u0000"), ("endless", "k" * 2000)]:
    bad(f"kid is {name}", token(header=head(kid=kid)))
bad("kid is a path, HS256 with nothing", token(header=head(alg="HS256", kid="../../dev/null"), sign=hs256(b"")))
attacker = ed25519.Ed25519PrivateKey.generate()
jwk = ed_jwk(attacker, "ed-1")
bad("jwk brings the key", token(header=head(jwk=jwk), sign=lambda d: eddsa(d, attacker)))
bad("jwk beside a good signature", token(header=head(jwk=ed_jwk(ed_key, "ed-1"))))
bad("jku names the key set", token(header=head(jku="https://attacker.test/jwks"), sign=lambda d: eddsa(d, attacker)))
bad("jku beside a good signature", token(header=head(jku=ISS + "/jwks")))
bad("x5u", token(header=head(x5u="https://attacker.test/chain")))
bad("x5c", token(header=head(x5c=["MIIB"])))

# Header.
bad("crit with an unknown name", token(header=head(crit=["x"], x=1)))
bad("crit empty", token(header=head(crit=[])))
bad("crit b64 with an unencoded payload", token(header=head(crit=["b64"], b64=False)))
bad("typ of a card's signature", token(header=head(typ="JOSE")))
bad("typ of a logout token", token(header=head(typ="logout+jwt")))
bad("typ of a proof", token(header=head(typ="dpop+jwt")))
bad("typ a number", token(header=head(typ=1)))
bad("alg twice", token(header=b'{"alg":"none","alg":"EdDSA","kid":"ed-1"}'))
bad("kid twice", token(header=b'{"alg":"EdDSA","kid":"x","kid":"ed-1"}'))
bad("a header that is a list", token(header=b'["EdDSA"]'))
bad("a header that is no JSON", token(header=b'alg=EdDSA'))
bad("a header with a byte order mark", token(header=b'\xef\xbb\xbf' + dump(HEADERS["ed"])))
bad("a header with something behind it", token(header=dump(HEADERS["ed"]) + b"{}"))

# Claims.
for name, claims in [
    ("iss missing", said(iss=None)), ("iss of another", said(iss="https://idp.test.evil.test")),
    ("iss with a slash", said(iss=ISS + "/")), ("iss in another case", said(iss="https://IDP.test")),
    ("iss a list", said(iss=[ISS])), ("iss of another tenant", said(iss="https://idp.globex.test")),
    ("iss of the gateway", said(iss="https://gw.test/oauth/acme")),
    ("aud missing", said(aud=None)), ("aud of another tenant", said(aud="https://gw.test/a2a/globex")),
    ("aud longer", said(aud=AUD + "/echo")), ("aud shorter", said(aud="https://gw.test/a2a")),
    ("aud empty", said(aud="")), ("aud an empty list", said(aud=[])), ("aud with a number", said(aud=[AUD, 1])),
    ("aud an object", said(aud={AUD: True})), ("aud nested", said(aud=[[AUD]])),
    ("exp missing", said(exp=None)), ("exp past", said(iat=NOW - 600, exp=NOW - 60)), ("exp a text", said(exp=str(NOW + 600))),
    ("exp a list", said(exp=[NOW + 600])), ("exp true", said(exp=True)), ("exp negative", said(exp=-1)),
    ("exp zero", said(exp=0)), ("exp in milliseconds", said(exp=(NOW + 600) * 1000)), ("exp in a hundred years", said(exp=4102444800)),
    ("a life of more than a day", said(iat=NOW - 10, exp=NOW + 90_000)),
    ("nbf to come", said(nbf=NOW + 61)), ("nbf a list", said(nbf=[NOW])), ("nbf a text", said(nbf=str(NOW))),
    ("iat to come", said(iat=NOW + 61)), ("iat a text", said(iat=str(NOW))),
    ("sub missing", said(sub=None)), ("sub an object", said(sub={"id": "u1"})), ("sub a number", said(sub=1)),
    ("sub empty", said(sub="")), ("sub of nobody", said(sub="u3")), ("sub in another case", said(sub="U1")),
    ("sub is a principal's name, which is not listed", said(sub="bot")), ("sub endless", said(sub="u" * 2000)),
    ("groups an object", said(groups={"a": 1})), ("groups with a number", said(groups=["a", 1])),
    ("groups nested", said(groups=[["a"]])), ("too many groups", said(groups=[str(at) for at in range(300)])),
]:
    bad(name, token(claims))
bad("exp beyond a double", token(dump(CLAIMS).replace(str(NOW + 600).encode(), b"1e400")))
bad("exp with fifty digits", token(dump(CLAIMS).replace(str(NOW + 600).encode(), b"9" * 50)))
bad("sub twice", token(dump(CLAIMS).replace(b'"sub":"u1"', b'"sub":"u2","sub":"u1"')))
bad("exp twice", token(dump(CLAIMS).replace(b'"exp":', b'"exp":1,"exp":')))
bad("iss twice, once with escapes", token(dump(CLAIMS)[:-1] + b',"\\u0069ss":"https://idp.test"}'))
bad("claims that are a list", token(b"[]"))
bad("claims that are no JSON", token(b"u1"))
bad("claims that are not UTF-8", token(dump(CLAIMS).replace(b"u1", b"\xff\xfe")))
bad("claims that nest too deep", token(dump(CLAIMS)[:-1] + b',"x":' + b"[" * 40 + b"]" * 40 + b"}"))
bad("claims with too many members", token(dump({**CLAIMS, **{f"m{at}": 1 for at in range(2100)}})))
bad("a token that is too long", token(said(filler="x" * 14_000)))

# Form.
whole = token()
parts = whole.split(".")
bad("two parts", ".".join(parts[:2]))
bad("four parts", whole + ".x")
bad("five parts, as if encrypted", whole + ".x.y")
bad("only dots", "..")
bad("an empty header", "." + ".".join(parts[1:]))
bad("empty claims", f"{parts[0]}..{parts[2]}")
bad("padding", f"{parts[0]}={'.'}{parts[1]}.{parts[2]}")
bad("a signature with padding", whole + "==")
bad("base64 of the other alphabet", token(said(x="?>?>?>~~")).replace("_", "/").replace("-", "+"))
bad("a character that is none of base64", f"{parts[0]}!.{parts[1]}.{parts[2]}")
bad("a signature with other trailing bits", whole[:-1] + chr(ord(whole[-1]) + 1))
bad("a blank inside", f"{parts[0]}. {parts[1]}.{parts[2]}")
bad("JSON serialization", json.dumps({"payload": parts[1], "protected": parts[0], "signature": parts[2]}, separators=(",", ":")).replace(" ", ""))

names = [one["name"] for one in GOOD + BAD]
assert len(names) == len(set(names)), "every vector has a name of its own"
document = {"about": "Made by make_vectors.py. Every token under `bad` is refused with one and the same 401.", "now": NOW,
            "issuer": ISS, "audience": AUD, "jwks": {"keys": JWKS}, "foreign_jwks": {"keys": [ed_jwk(foreign, "gx-1")]},
            "good": GOOD, "bad": BAD}
path = pathlib.Path(__file__).parent / "vectors.json"
path.write_text(json.dumps(document, indent=1) + "\n")
print(f"{len(GOOD)} good, {len(BAD)} bad")
