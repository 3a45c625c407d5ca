"""From the subject of a client's certificate to the name of its principal: `ssl.principal.mapping.rules`.

Rules are separated by commas, and the first rule that matches the whole subject gives the name:

    RULE:^CN=(.*?),OU=Sales.*$/$1/L      the pattern, the replacement, and L or U for lower or upper case
    DEFAULT                              the subject itself
"""

import re
from typing import Final

_RULE: Final = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLITTER: Final = re.compile(rf"\s*(?P<rule>{_RULE})\s*(?:,\s*|$)")
_PARSER: Final = re.compile(_RULE)
# A group of the replacement, or a character after a backslash.
_REFERENCE: Final = re.compile(r"\\(.)|\$(\d+)")


class RuleError(ValueError):
    """A rule cannot be used. The message is for a person."""


class NoRuleError(Exception):
    """No rule matches a subject."""


class _Rule:
    def __init__(self, pattern: str, replacement: str, case: str) -> None:
        try:
            # Java writes named groups without the P.
            self.pattern = re.compile(re.sub(r"\(\?<(?![=!])", "(?P<", pattern))
        except re.error as error:
            raise RuleError(f"the pattern {pattern} is malformed: {error}") from None
        self.replacement = replacement
        self.case = case

    def name(self, subject: str) -> str | None:
        if self.pattern.fullmatch(subject) is None:
            return None
        # As in Java, every match inside the subject is replaced, not only the one of the whole.
        name = self.pattern.sub(self._replaced, subject)
        if self.case:
            return name.lower() if self.case == "L" else name.upper()
        return name

    def _replaced(self, match: re.Match[str]) -> str:
        return _REFERENCE.sub(lambda found: self._part(match, found[1], found[2]), self.replacement)

    def _part(self, match: re.Match[str], escaped: str | None, digits: str | None) -> str:
        if digits is None:
            return escaped or ""
        groups = self.pattern.groups
        # Of $12 only $1 is a reference if there are fewer than twelve groups.
        for length in range(len(digits), 0, -1):
            if int(digits[:length]) <= groups:
                return (match[int(digits[:length])] or "") + digits[length:]
        return f"${digits}"


class PrincipalMapping:
    """The rules of a listener."""

    def __init__(self, rules: str) -> None:
        """Raises RuleError."""
        self._rules: list[_Rule | None] = []  # None is DEFAULT
        for found in _SPLITTER.finditer(rules.strip()):
            rule = found["rule"]
            parsed = _PARSER.fullmatch(rule)
            assert parsed is not None
            if parsed[1] is not None:
                self._rules.append(None)
            elif parsed[2] is not None:
                if rule[parsed.end(3) :].removeprefix("/").removeprefix(parsed[4]):
                    raise RuleError(f"the rule {rule} has text after its last /; only L or U may follow")
                self._rules.append(_Rule(parsed[2], parsed[3], parsed[4]))
            elif rule:
                raise RuleError(f"{rule} is no rule; use DEFAULT or RULE:pattern/replacement/[LU]")

    def name_of(self, subject: str) -> str:
        """The name of the principal with this subject. Raises NoRuleError."""
        for rule in self._rules:
            name = subject if rule is None else rule.name(subject)
            if name is not None:
                return name
        raise NoRuleError(f"no rule of ssl.principal.mapping.rules matches the certificate of {subject}")
