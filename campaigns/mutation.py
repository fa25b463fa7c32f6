"""Mutate bytes: flips, edits of bytes, tokens, fields and lines, splices, cuts, repetitions."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

MAX_BYTES = 60_000
"""Inputs stay small: what is tried is what a small file can do."""

NUMBERS = (
    b"0", b"1", b"-1", b"-0", b"+1", b"007", b"1.5", b"1e5", b"1e999", b"-1e999", b"1e-400", b"nan",
    b"NaN", b"inf", b"-inf", b"Infinity", b"0x10", b"1_000", b"1,000", b".5", b"5.", b"1e", b"e5",
    b"--1",
    b"127", b"128", b"255", b"256", b"32767", b"65535", b"65536", b"16777216", b"16777217",
    b"2147483646", b"2147483647", b"2147483648", b"-2147483648", b"-2147483649",
    b"4294967295", b"4294967296", b"9007199254740993", b"9223372036854775807",
    b"9223372036854775808", b"-9223372036854775808", b"18446744073709551615",
    b"18446744073709551616", b"99999999999999999999", b"3.4028236e38", b"1.8e308",
    b"1" * 25, b"9" * 400, b"1" * 5000, b"0" * 30 + b"1", b"1e" + b"9" * 30,
    "٣".encode(), "²".encode(), "\uff11\uff12".encode(), "½".encode(),
)  # fmt: skip
CHARACTERS = (
    b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\x00", b"\x00" * 8, b"\x01", b"\x1a", b"\x1f",
    b"\x7f",
    b"\x80", b"\xc0\x80", b"\xc3", b"\xc3\x28", b"\xed\xa0\x80", b"\xed\xa0\xbd\xed\xb8\x80",
    b"\xf0\x9f\x98\x80", b"\xf0\x9f\x98", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xff",
    "\u0085".encode(), "\u00a0".encode(), "\u200b".encode(), "\u2028".encode(), "\u2029".encode(),
    "\u202e".encode(), "\u3000".encode(), "\ufeff".encode(), "\ufffd".encode(), "\uffff".encode(),
    "e\u0301".encode(), "İ".encode(), "ß".encode(), "ﬁ".encode(), "\U0010ffff".encode(),
    b"\r", b"\n", b"\r\n", b"\n\r", b"\n\n", b"\t", b" ", b"  ", b"\v", b"\f", b"\x1c", b"\x1d",
)  # fmt: skip
PUNCTUATION = tuple(bytes([byte]) for byte in b"\"'`,;:|\\/<>[]{}()#@=&%!?*+-._~^$")
JSON = (
    b"null", b"true", b"false", b"{}", b"[]", b'""', b"[[]]", b"{}{}", b'"\\ud800"',
    b'"\\udc00\\ud800"',
    b'"\\u0000"', b'"\\x"', b'"\\', b'{"":{}}', b'{"a":1,"a":2}', b"[" * 2000, b'{"a":' * 1500,
    b"[null]", b'["",""]', b'[""]', b"[1,2]", b'[1,"1"]', b"[true]", b"[1.5]", b"[-1]",
    b"[2147483647]",
    b'"labels":', b'"label":', b'"text":', b'"title":', b'"content":', b'"uid":', b'"id":',
    b'"group":',
    b'"groups":', b'"target_ind":', b'"row":', b'"score":', b'{"labels": 1}', b'"tags":',
    b"\\u2028",
)  # fmt: skip
TABLES = (
    b'""', b'"""', b'","', b';";', b"a|b|c", b"text,labels", b"text\tlabels", b"labels", b"id;text",
    b'"\n"', b'"\r\n', b"\t\t", b",,,,", b"['a', 'b']", b"[a", b"{'a'}", b"<http://a/b>",
    b"<http://a>\t", b"a;b;;c", b"; ;", b"1;2;3", b'["a", "b"]', b"\\N", b"=1+1", b'\\"',
)  # fmt: skip
SPARSE = (
    b"3 4 5\n", b"0 0 0\n", b"1 1 1\n", b"5 3\n", b"0:1", b"1:", b":1", b"1:1:1", b"4:1e999",
    b"-1:1",
    b"1,2 3:4", b",", b"0,0", b"9:nan", b"2147483647:1", b"2147483648:1", b"4294967296:1", b"# a",
    b"qid:1", b"1 1:1", b"3000000000 5 3\n", b"99999999999999999999 5 3\n", b"1 2147483647 1\n",
    b"1 2147483648 2147483648\n", b"9" * 5000 + b" 1 1\n", b"100000000 5 3\n",
)  # fmt: skip
FASTTEXT = (
    b"__label__",
    b"__label__ ",
    b"__label__a",
    b"__label____label__",
    b"_label_",
    b"__LABEL__a",
)
SKOS = (
    b"@prefix a: <b> .", b"a skos:Concept ;", b"skos:prefLabel", b"skos:altLabel", b"skos:broader",
    b'"a"@en', b'"a"@en-x-y', b'"a"^^<b>', b'"a"@', b"_:b0", b"<>", b"<a b>", b"<http://a/b>",
    b"[ ]",
    b"( )", b" ;", b" .", b",", b"a", b'"""', b"<skos:Concept", b"</rdf:RDF>", b"&lt;", b"&a;",
    b"<!DOCTYPE a [",
    b'<!ENTITY a "bb">', b"<!ENTITY x SYSTEM 'file:///etc/hostname'>", b"<![CDATA[", b"<?xml",
    b"<!--",
    b'"@id":', b'"@context":', b'"@graph":', b'"@type":', b'"@language":', b'"@value":',
    b'"@context": "http://localhost:9/x"', b'"@import":', b"owl:deprecated", b"skos:inScheme",
)  # fmt: skip
NPY = (
    b"'<i4'", b"'<i8'", b"'>i4'", b"'<u8'", b"'<f4'", b"'<f8'", b"'|O'", b"'|b1'", b"'<U7'",
    b"'|S3'",
    b"'<c16'", b"'<M8[s]'", b"'|V8'", b"True", b"False", b"()", b"(0,)", b"(1,)", b"(3,)", b"(-1,)",
    b"(2, 2)", b"(4000000000,)", b"(9223372036854775807,)", b"(99999999999999999999,)",
    b"'fortran_order'", b"'shape'", b"'descr'", b"[('a', '<i4')]", b"\x93NUMPY", b"\x01\x00",
    b"\x02\x00",
    b"csr", b"csc", b"coo", b"bsr", b"dia", b"lil",
)  # fmt: skip
INTEGERS = tuple(
    value.to_bytes(width, "little", signed=value < 0)
    for width in (4, 8)
    for value in (-1, 0, 1, 2, 7, -(1 << 31), (1 << 31) - 1, 100, 1 << 20, 1 << 30, -5)
) + tuple(value.to_bytes(8, "little") for value in (1 << 31, 1 << 32, 1 << 40, (1 << 63) - 1))
COMMON = NUMBERS + CHARACTERS + PUNCTUATION

_TOKEN = re.compile(rb"[A-Za-z0-9_.+-]+|\s+|[^A-Za-z0-9_.+\s-]")
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_FIELD = re.compile(rb"[,;:\t| ]")

Mutator = Callable[["Mutation", bytes], bytes]


class Mutation:
    """Mutates contents of one kind: its corpus is where splices come from."""

    def __init__(self, corpus: Sequence[bytes], tokens: Sequence[bytes] = ()) -> None:
        self.corpus = list(corpus)
        self.tokens = [*COMMON, *tokens, *tokens]  # those of the format are as likely as all others

    def draw(self, rng: random.Random) -> bytes:
        """Return a content of the corpus after one to six mutations; now and then as it is."""
        self.rng = rng
        content = rng.choice(self.corpus)
        for _ in range(min(int(rng.expovariate(0.8)), 5) + (rng.random() > 0.02)):
            content = rng.choice(MUTATORS)(self, content)[:MAX_BYTES]
        return content

    def token(self) -> bytes:
        """Return a token of the dictionary."""
        return self.rng.choice(self.tokens)

    def place(self, content: bytes) -> int:
        """Return a place in a content, its end included."""
        return self.rng.randint(0, len(content))

    def piece(self, content: bytes) -> tuple[int, int]:
        """Return start and stop of a piece, more often a short one."""
        start = self.place(content)
        longest = max(1, len(content) - start)
        stop = start + min(longest, 1 + int(self.rng.expovariate(1 / 12)))
        return start, stop


def flip_bits(draw: Mutation, content: bytes) -> bytes:
    """Flip one to eight bits."""
    changed = bytearray(content)
    for _ in range(draw.rng.randint(1, 8) if changed else 0):
        changed[draw.rng.randrange(len(changed))] ^= 1 << draw.rng.randrange(8)
    return bytes(changed)


def set_byte(draw: Mutation, content: bytes) -> bytes:
    """Set a byte to any value."""
    if not content:
        return bytes([draw.rng.randrange(256)])
    at = draw.rng.randrange(len(content))
    return content[:at] + bytes([draw.rng.randrange(256)]) + content[at + 1 :]


def drop(draw: Mutation, content: bytes) -> bytes:
    """Leave out a piece."""
    start, stop = draw.piece(content)
    return content[:start] + content[stop:]


def insert_token(draw: Mutation, content: bytes) -> bytes:
    """Insert a token of the dictionary."""
    at = draw.place(content)
    return content[:at] + draw.token() + content[at:]


def overwrite(draw: Mutation, content: bytes) -> bytes:
    """Write a token, or a number as it is stored, over what is there."""
    token = draw.rng.choice(INTEGERS) if draw.rng.random() < 0.5 else draw.token()
    at = draw.place(content)
    return content[:at] + token + content[at + len(token) :]


def replace_match(draw: Mutation, content: bytes, pattern: re.Pattern[bytes]) -> bytes:
    """Replace one match of a pattern, of those after some place, by a token."""
    found = pattern.search(content, draw.place(content)) or pattern.search(content)
    if found is None:
        return insert_token(draw, content)
    return content[: found.start()] + draw.token() + content[found.end() :]


def replace_token(draw: Mutation, content: bytes) -> bytes:
    """Replace a word, a blank or a sign."""
    return replace_match(draw, content, _TOKEN)


def replace_number(draw: Mutation, content: bytes) -> bytes:
    """Replace a number by another one."""
    found = _NUMBER.search(content, draw.place(content)) or _NUMBER.search(content)
    if found is None:
        return insert_token(draw, content)
    return content[: found.start()] + draw.rng.choice(NUMBERS) + content[found.end() :]


def edit_lines(draw: Mutation, content: bytes) -> bytes:
    """Leave out, double, swap or join lines, or empty one."""
    lines = content.split(b"\n")
    i, j = draw.rng.randrange(len(lines)), draw.rng.randrange(len(lines))
    choice = draw.rng.randrange(5)
    if choice == 0:
        del lines[i]
    elif choice == 1:
        lines.insert(j, lines[i])
    elif choice == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif choice == 3:
        lines[i : i + 2] = [b"".join(lines[i : i + 2])]
    else:
        lines[i] = b""
    return b"\n".join(lines)


def edit_fields(draw: Mutation, content: bytes) -> bytes:
    """Leave out, double or replace a field of a line."""
    lines = content.split(b"\n")
    at = draw.rng.randrange(len(lines))
    fields = _FIELD.split(lines[at])
    signs = _FIELD.findall(lines[at])
    i = draw.rng.randrange(len(fields))
    fields[i] = draw.rng.choice((b"", fields[i] * 2, draw.token(), draw.rng.choice(fields)))
    mixed = [part for pair in zip(fields, [*signs, b""], strict=True) for part in pair]
    lines[at] = b"".join(mixed)
    return b"\n".join(lines)


def truncate(draw: Mutation, content: bytes) -> bytes:
    """Cut off the end, or now and then the beginning."""
    at = draw.place(content)
    return content[at:] if draw.rng.random() < 0.2 else content[:at]


def repeat(draw: Mutation, content: bytes) -> bytes:
    """Repeat a piece, up to thousands of times."""
    start, stop = draw.piece(content)
    times = draw.rng.choice((2, 3, 10, 100, 2000))
    return content[:stop] + content[start:stop] * times + content[stop:]


def splice(draw: Mutation, content: bytes) -> bytes:
    """Put the beginning of one content before the end of another."""
    other = draw.rng.choice(draw.corpus)
    return content[: draw.place(content)] + other[draw.place(other) :]


def borrow(draw: Mutation, content: bytes) -> bytes:
    """Insert a piece of another content."""
    other = draw.rng.choice(draw.corpus)
    start, stop = draw.piece(other)
    at = draw.place(content)
    return content[:at] + other[start:stop] + content[at:]


MUTATORS: tuple[Mutator, ...] = (
    flip_bits, set_byte, drop, insert_token, insert_token, overwrite, replace_token, replace_token,
    replace_number, replace_number, edit_lines, edit_fields, edit_fields, truncate, repeat, splice,
    borrow,
)  # fmt: skip
