#!/usr/bin/env python3
"""A second verifier of openFunctions record files, from the specification alone. Python 3.9, standard library.

    python3 verify_run.py [--key signer.pub.pem]... [--json] FILE_OR_FOLDER...

Prints one line per file: its status and what was found, as `kind line`. A folder means its *.jsonl files. Exit 0 when
every file is verified, 1 when one is not, 2 for wrong usage, 4 when all are intact and some unsigned.
"""

import argparse
import base64
import hashlib
import json
import os
import re
import sys

MAX_DEPTH = 512
TERMINAL = {"run.completed", "run.limit_reached", "run.failed", "run.cancelled"}
EVENT_FIELDS = {"at": str, "data": dict, "hash": str, "prev": str, "runId": str, "seq": (int, float), "type": str, "v": (int, float)}
SEAL_FIELDS = {"runId": str, "events": (int, float), "head": str, "alg": str, "keyId": str, "signedAt": str, "signature": str}
REDACTION_FIELDS = {"n": (int, float), "seq": (int, float), "leaf": str, "by": str, "at": str, "reason": str, "prev": str, "hash": str}


class Malformed(Exception):
    """A line that is not what it must be; the argument is the kind of the finding."""


# Canonical JSON (RFC 8785)

def number_text(value):
    """A number as ECMAScript writes it."""
    value = float(value)
    if value != value or value in (float("inf"), float("-inf")):
        raise Malformed("malformed")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = whole + fraction
    point = len(whole) + int(exponent or 0)
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    power = point - 1
    text = digits[0] + ("." + digits[1:] if count > 1 else "")
    return sign + text + "e" + ("+" if power > 0 else "-") + str(abs(power))


ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def string_text(value):
    if any(0xD800 <= ord(char) <= 0xDFFF for char in value):
        raise Malformed("malformed")
    return '"' + re.sub(r'["\\\x00-\x1f]', lambda found: ESCAPES.get(found.group(), "\\u%04x" % ord(found.group())), value) + '"'


def canonical(value, reduce=None, depth=0):
    """The canonical text; `reduce` gives what stands for an object."""
    if isinstance(value, str):
        return string_text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return number_text(value)
    if depth > MAX_DEPTH:
        raise Malformed("malformed")
    if isinstance(value, list):
        return "[" + ",".join(canonical(item, reduce, depth + 1) for item in value) + "]"
    if reduce is not None:
        value = reduce(value)
    keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(string_text(key) + ":" + canonical(value[key], reduce, depth + 1) for key in keys) + "}"


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest(tag, value, reduce=None):
    return sha256(('{"t":%s,"v":%s}' % (string_text(tag), canonical(value, reduce))).encode("utf-8"))


def sealed_only(value):
    return {"$sealed": value["$sealed"]} if "$sealed" in value else value


def unique(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Malformed("malformed")
    return value


def no_constant(_text):
    raise Malformed("malformed")


def parse_line(data):
    """The value of a line that is exactly its canonical bytes."""
    try:
        text = data.decode("utf-8")
        value = json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)
        if canonical(value) != text:
            raise Malformed("malformed")
    except (ValueError, RecursionError, OverflowError) as cause:
        raise Malformed("malformed") from cause
    return value


# Ed25519 (RFC 8032): verification only

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def point_add(one, two):
    a = (one[1] - one[0]) * (two[1] - two[0]) % P
    b = (one[1] + one[0]) * (two[1] + two[0]) % P
    c = 2 * one[3] * two[3] * D % P
    d = 2 * one[2] * two[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def point_multiply(scalar, point):
    result = (0, 1, 1, 0)
    while scalar > 0:
        if scalar & 1:
            result = point_add(result, point)
        point = point_add(point, point)
        scalar >>= 1
    return result


def point_decode(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P != 0:
        x = x * ROOT % P
    if (x * x - x2) % P != 0 or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return (x, y, 1, x * y % P)


BASE = point_decode((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def signature_fits(key, message, text):
    """True where `text` is the base64 of the key's signature of the message."""
    try:
        signature = base64.b64decode(text, validate=True)
    except ValueError:
        return False
    if len(signature) != 64 or base64.b64encode(signature).decode() != text:
        return False
    point, r = point_decode(key), point_decode(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if point is None or r is None or s >= ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    left, right = point_multiply(s, BASE), point_add(r, point_multiply(challenge, point))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


SPKI = bytes.fromhex("302a300506032b6570032100")


def read_key(file):
    """The id and the 32 bytes of a public key in PEM."""
    with open(file, encoding="ascii") as source:
        der = base64.b64decode("".join(line for line in source.read().split("\n") if not line.startswith("-")))
    if len(der) != 44 or not der.startswith(SPKI):
        raise ValueError("%s holds no Ed25519 public key" % file)
    return sha256(der), der[12:]


# Verification (specification of runs, section 5)

def has_fields(value, fields):
    return all(name in value and isinstance(value[name], kind) and not isinstance(value[name], bool) for name, kind in fields.items())


def leaves_of(value, path):
    """Every sealed leaf with its path. What a leaf's value holds is content, however it looks."""
    if isinstance(value, dict):
        if "$sealed" in value:
            yield path, value
            return
        for key, item in value.items():
            yield from leaves_of(item, path + "/" + key.replace("~", "~0").replace("/", "~1"))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from leaves_of(item, "%s/%d" % (path, index))


def leaf_is_whole(leaf):
    return set(leaf) <= {"$sealed", "salt", "value"} and isinstance(leaf["$sealed"], str) and isinstance(leaf.get("salt", ""), str)


def leaf_fits(leaf):
    if "salt" in leaf and not re.fullmatch("([0-9a-f]{2})*", leaf["salt"]):
        return False
    if "value" not in leaf:
        return True
    return "salt" in leaf and sha256(bytes.fromhex(leaf["salt"]) + canonical(leaf["value"]).encode("utf-8")) == leaf["$sealed"]


class Verifier:
    def __init__(self, keys):
        self.keys = keys
        self.findings = []
        self.line = 0
        self.next = self.unread = self.events = self.redactions = 0
        self.last_seq = -1
        self.missing = []
        self.run_id = self.last = self.sealed = self.seal = self.first_redaction = self.redaction_head = None
        self.linked = True
        self.ended = self.torn = self.unread_tail = False

    def find(self, kind, line=None):
        self.findings.append((self.line if line is None else line, kind))

    def torn_kind(self):
        return "torn_tail" if self.sealed is False else "malformed"

    def take(self, data, torn):
        self.line += 1
        self.torn, self.unread_tail = torn, False
        try:
            value = parse_line(data)
            self.dispatch(value)
        except Malformed as cause:
            self.find(self.torn_kind() if torn else cause.args[0])
            self.unread += 1
            self.linked, self.unread_tail = False, True
            return
        if torn:
            self.find(self.torn_kind())

    def dispatch(self, value):
        if not isinstance(value, dict):
            raise Malformed("malformed")
        kind = value.get("type")
        if kind == "seal" and has_fields(value, SEAL_FIELDS):
            return self.take_seal(value)
        signed = {"keyId": str, "signature": str} if "keyId" in value or "signature" in value else {}
        if kind == "redaction" and has_fields(value, {**REDACTION_FIELDS, **signed}):
            return self.take_redaction(value)
        version = value.get("v")
        if isinstance(version, (int, float)) and not isinstance(version, bool) and version != 1:
            raise Malformed("unsupported")
        seq = value.get("seq")
        if set(value) != set(EVENT_FIELDS) or not has_fields(value, EVENT_FIELDS) or seq < 0 or seq != int(seq) or seq >= 2**53:
            raise Malformed("malformed")
        leaves = list(leaves_of(value["data"], "/data"))
        if not all(leaf_is_whole(leaf) for _, leaf in leaves):
            raise Malformed("malformed")
        self.take_event(value, leaves)

    def take_event(self, event, leaves):
        stored = event["hash"]
        computed = digest("event/1", {key: item for key, item in event.items() if key != "hash"}, sealed_only)
        event = {"seq": int(event["seq"]), "type": event["type"], "prev": event["prev"], "runId": event["runId"], "data": event["data"],
                 "stored": stored, "computed": computed, "line": self.line}
        altered = stored != computed
        if not altered:
            self.run_id = self.run_id or event["runId"]
            if event["runId"] != self.run_id:
                return self.find("extra")
        self.events += 1
        if altered:
            if self.follows(event):
                event["seq"] = self.next
            self.find("altered")
        for _, leaf in leaves:
            if not leaf_fits(leaf):
                self.find("altered")
        if self.seal is not None or self.redactions > 0:
            self.find("order")
        self.follow(event, altered)

    def follows(self, event):
        return self.last is None or event["prev"] in (self.last["stored"], self.last["computed"])

    def follow(self, event, altered):
        verdict = self.place(event["seq"])
        if verdict == "extra":
            return self.find("extra")
        if verdict == "late":
            return
        if verdict == "next" and self.linked and not altered:
            if self.last is not None and not self.follows(event):
                self.find("altered", self.last["line"])
            elif self.last is None and event["prev"] != digest("run/1", event["runId"]):
                self.find("altered")
        if event["seq"] == 0:
            sealed = event["data"].get("sealed")
            sealed = sealed.get("keyId") if isinstance(sealed, dict) else sealed
            if event["type"] != "run.started" or not (sealed is False or isinstance(sealed, str)):
                self.find("malformed")
            else:
                self.sealed = sealed
        self.ended = self.ended or event["type"] in TERMINAL
        self.last, self.linked = event, True

    def place(self, seq):
        """How the number stands to those before it; ranges that are missing are [from, to, line, known]."""
        unread, self.unread = self.unread, 0
        last, self.last_seq = self.last_seq, seq
        if seq >= self.next:
            first, self.next = self.next, seq + 1
            if seq - first <= unread:
                return "next"
            self.missing.append([first, seq - 1, self.line, False])
            return "ahead"
        for index, (low, high, line, known) in enumerate(self.missing):
            if low <= seq <= high:
                parts = [[low, seq - 1, line, True], [seq + 1, high, line, True]]
                self.missing[index:index + 1] = [part for part in parts if part[0] <= part[1]]
                if not known:
                    self.find("order", line)
                elif seq < last:
                    self.find("order")
                return "late"
        return "extra"

    def take_seal(self, seal):
        if self.seal is not None:
            return self.find("extra")
        if self.redactions > 0:
            self.find("order")
        self.seal = {"value": seal, "line": self.line}

    def signature_kind(self, key_id, message, signature):
        """What is wrong with a signature, or None."""
        if isinstance(self.sealed, str) and self.seal is not None and self.seal["value"]["keyId"] == key_id != self.sealed:
            return "bad_signature"
        if key_id not in self.keys:
            return "unknown_key"
        return None if signature_fits(self.keys[key_id], message.encode("utf-8"), signature) else "bad_signature"

    def take_redaction(self, line):
        hashed = digest("redaction/1", {key: item for key, item in line.items() if key not in ("hash", "keyId", "signature")})
        if hashed != line["hash"]:
            self.find("altered")
        elif line["n"] > self.redactions:
            self.find("gap")
        elif line["n"] < self.redactions:
            self.find("order")
        elif self.redaction_head is not None and line["prev"] != self.redaction_head:
            self.find("altered")
        is_sealed = self.seal is not None or isinstance(self.sealed, str)
        if is_sealed and "signature" in line:
            kind = self.signature_kind(line["keyId"], line["hash"], line["signature"])
            if kind is not None:
                self.find(kind)
        elif is_sealed or "signature" in line:
            self.find("bad_signature")
        if self.redactions == 0:
            self.first_redaction = {"value": line, "line": self.line}
        self.redactions += 1
        self.redaction_head = line["hash"]

    def end_sequence(self, count, line):
        for low, _high, at, _known in self.missing:
            self.find("gap", at)
        if count - self.next > self.unread:
            self.find("gap", line)

    def finish_seal(self):
        if self.seal is None:
            self.end_sequence(0, self.line)
            return False
        seal, line = self.seal["value"], self.seal["line"]
        signed = canonical({key: item for key, item in seal.items() if key != "signature"})
        kind = self.signature_kind(seal["keyId"], signed, seal["signature"]) if seal["alg"] == "ed25519" or seal["keyId"] not in self.keys else "bad_signature"
        if kind is not None:
            self.find(kind, line)
        self.end_sequence(0 if kind == "bad_signature" else seal["events"], line)
        if kind == "bad_signature":
            return False
        last = self.last
        if seal["events"] < self.next:
            self.find("extra", last["line"] if last else line)
        elif seal["events"] == self.next and self.linked and last and seal["head"] not in (last["stored"], last["computed"]):
            self.find("altered", last["line"])
        return kind is None

    def check_first_redaction(self):
        first, last = self.first_redaction, self.last
        if first is None or first["value"]["n"] != 0 or last is None:
            return
        expected = [digest("seal/1", self.seal["value"])] if self.seal else [last["stored"], last["computed"]]
        if first["value"]["prev"] not in expected:
            self.find("altered", first["line"])

    def finish(self):
        signed = self.finish_seal()
        self.check_first_redaction()
        if self.seal is None and isinstance(self.sealed, str) and (self.torn or not self.unread_tail):
            self.find("truncated")
        status = "failed" if self.findings else "verified" if signed else "unsigned"
        if status == "unsigned" and self.seal is None and not isinstance(self.sealed, str) and not self.ended:
            status = "open"
            self.find("open")
        return {"status": status, "findings": ["%s %d" % (kind, line) for line, kind in sorted(self.findings, key=lambda one: one[0])]}


def verify(data, keys):
    """The status of a record file's bytes, and what was found."""
    verifier = Verifier(keys)
    lines = data.split(b"\n")
    for line in lines[:-1]:
        verifier.take(line, False)
    if lines[-1]:
        verifier.take(lines[-1], True)
    return verifier.finish()


def files_of(path):
    if not os.path.isdir(path):
        return [path]
    return [os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith(".jsonl")]


def main():
    parser = argparse.ArgumentParser(description="Verifies openFunctions record files.")
    parser.add_argument("--key", action="append", default=[], help="a public key (PEM) to trust")
    parser.add_argument("--json", action="store_true", help="print one JSON object: path to result")
    parser.add_argument("paths", nargs="+")
    options = parser.parse_args()
    results = {}
    try:
        keys = dict(read_key(file) for file in options.key)
        for path in (file for given in options.paths for file in files_of(given)):
            with open(path, "rb") as source:
                results[path] = verify(source.read(), keys)
    except (OSError, ValueError) as cause:
        print(cause, file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(results))
    else:
        for path, result in results.items():
            print("%s: %s %s" % (path, result["status"], ", ".join(result["findings"])))
    states = {result["status"] for result in results.values()}
    return 0 if states <= {"verified"} else 4 if states <= {"verified", "unsigned"} else 1


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    sys.exit(main())
