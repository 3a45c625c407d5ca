"""Principals of client certificates: the subject as Java writes it, and the rules of SslPrincipalMapper."""

import contextlib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from gralha.security.distinguished_names import subject_of
from gralha.security.principal_mapping import NoRuleError, PrincipalMapping, RuleError
from tests.certificates import Authority

AUTHORITY = Authority()
CN, O, OU, C = (  # noqa: E741
    NameOID.COMMON_NAME,
    NameOID.ORGANIZATION_NAME,
    NameOID.ORGANIZATIONAL_UNIT_NAME,
    NameOID.COUNTRY_NAME,
)
Attributes = list[tuple[x509.ObjectIdentifier, str]]


def der_of(*names: Attributes) -> bytes:
    relative = [
        x509.RelativeDistinguishedName([x509.NameAttribute(kind, value) for kind, value in attributes])
        for attributes in names
    ]
    identity = AUTHORITY.issue(subject=x509.Name(relative))
    return identity.certificate.public_bytes(Encoding.DER)


# What Java's X500Principal.getName() says about certificates with these subjects.
SUBJECTS: list[tuple[list[Attributes], str]] = [
    (
        [[(C, "DE")], [(O, 'A, B + C=D;<#>"\\')], [(CN, "alice")]],
        'CN=alice,O=A\\, B \\+ C\\=D\\;\\<\\#\\>\\"\\\\,C=DE',
    ),
    ([[(CN, "multi"), (NameOID.USER_ID, "u1")], [(OU, "Ops")]], "OU=Ops,CN=multi+UID=u1"),
    (
        [[(NameOID.EMAIL_ADDRESS, "a@b.c")], [(CN, "  spaced  ")]],
        "CN=\\ \\ spaced\\ \\ ,1.2.840.113549.1.9.1=#16056140622e63",
    ),
    (
        [
            [(NameOID.DOMAIN_COMPONENT, "example")],
            [(NameOID.STREET_ADDRESS, "Rua 1")],
            [(NameOID.LOCALITY_NAME, "São Paulo")],
            [(NameOID.SERIAL_NUMBER, "12")],
            [(CN, "Zoë 雪")],
        ],
        "CN=Zoë 雪,2.5.4.5=#13023132,L=São Paulo,STREET=Rua 1,DC=example",
    ),
    ([[(CN, " ")]], "CN=\\ "),
    ([[(CN, "a\nb\0c")]], "CN=a\nb\\00c"),
    ([[(x509.ObjectIdentifier("2.5.29.17.999"), "odd")]], "2.5.29.17.999=#0c036f6464"),
]


@pytest.mark.parametrize(("names", "expected"), SUBJECTS, ids=[text for _, text in SUBJECTS])
def test_subjects_as_java_writes_them(names: list[Attributes], expected: str) -> None:
    assert subject_of(der_of(*names)) == expected


def test_subject_in_an_unusual_encoding() -> None:
    name = x509.Name([x509.NameAttribute(OU, "uni", _ASN1Type.UniversalString)])
    der = AUTHORITY.issue(subject=name).certificate.public_bytes(Encoding.DER)
    assert subject_of(der) == "OU=#1c0c000000750000006e00000069"


@given(st.binary(max_size=200))
def test_junk_is_no_certificate(junk: bytes) -> None:
    try:
        subject_of(junk)
    except ValueError:
        return
    raise AssertionError("junk was read as a certificate")


@given(st.integers(0, 400), st.binary(min_size=1, max_size=4))
def test_damaged_certificates_are_read_or_refused(position: int, junk: bytes) -> None:
    der = bytearray(der_of([(CN, "alice")]))
    der[position : position + len(junk)] = junk
    with contextlib.suppress(ValueError):
        subject_of(bytes(der))


ALICE = "CN=Alice,OU=ServiceUsers,O=Org,C=US"


@pytest.mark.parametrize(
    ("rules", "subject", "name"),
    [
        ("DEFAULT", ALICE, ALICE),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", ALICE, "Alice"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L", ALICE, "alice"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/U , DEFAULT", ALICE, "ALICE"),
        ("RULE:^CN=(.*?),OU=Admins.*$/$1/L, DEFAULT", ALICE, ALICE),
        ("RULE:^CN=(.*?),OU=Admins.*$/$1/,RULE:^CN=(.*?),.*,O=(.*?),.*/$1@$2/L", ALICE, "alice@org"),
        ("RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L", ALICE, "alice"),
        ("RULE:^CN=(.*?),.*$/$1@$4/", ALICE, "Alice@$4"),
        ("RULE:^CN=(.*?),.*$/$12/", ALICE, "Alice2"),
        ("RULE:^CN=(?<who>.*?),.*$/$1/", ALICE, "Alice"),
        ("RULE:^CN=(.*?),.*$/\\$1\\/$1/", ALICE, "$1/Alice"),
        ("RULE:CN=a\\/b/slash/", "CN=a/b", "slash"),
        ("RULE:.*//", ALICE, ""),
    ],
)
def test_rules(rules: str, subject: str, name: str) -> None:
    assert PrincipalMapping(rules).name_of(subject) == name


def test_no_rule_matches() -> None:
    mapping = PrincipalMapping("RULE:^CN=(.*?),OU=Admins.*$/$1/")
    with pytest.raises(NoRuleError, match=r"^no rule .* matches the certificate of CN=Alice"):
        mapping.name_of(ALICE)


# Kafka's SslPrincipalMapper refuses these, too.
@pytest.mark.parametrize(
    "rules",
    [
        "default",
        "DEFAUL",
        "DEFAULT/L",
        "RULE:CN=(.*?),OU=ServiceUsers.*/$1",
        "rule:^CN=(.*?),OU=ServiceUsers.*$/$1/L/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L/U",
        "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/LU",
        "RULE:^CN=((.*?),OU=ServiceUsers.*$/$1/L",
    ],
)
def test_wrong_rules(rules: str) -> None:
    with pytest.raises(RuleError):
        PrincipalMapping(rules)
