"""How secrets look that nobody declared: the marks that vendors put in front of theirs, and values named as secret.

A pattern is tried only at its literals: looking for fixed text is a hundred times as fast as trying a pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_B: Final = r"(?<![A-Za-z0-9_+/-])"
"""Not in the middle of a longer word, such as base64 or a minified name."""
_E: Final = r"(?![A-Za-z0-9_])"


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    literals: tuple[str, ...]
    """Whatever the pattern finds begins with one of them."""
    pattern: re.Pattern[str]
    """Its group `value`, if it has one, is what is secret; else all of it."""


def _rule(name: str, literals: str, pattern: str) -> Rule:
    return Rule(name, tuple(literals.split()), re.compile(pattern))


RULES: Final = (
    _rule("private_key", "-----BEGIN", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,20000}?(?:-----END [A-Z0-9 ]*-----|\Z)"),
    _rule("aws_access_key", "AKIA ASIA ABIA ACCA", _B + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}" + _E),
    _rule("github_token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", _B + r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})"),
    _rule("gitlab_token", "glpat- glptt- gldt- glrt- glcbt- glsoat- glagent-", _B + r"gl(?:pat|ptt|dt|rt|cbt|soat|agent)-[A-Za-z0-9_-]{20,}"),
    _rule("anthropic_key", "sk-ant-", _B + r"sk-ant-[A-Za-z0-9_-]{20,}"),
    _rule("openai_key", "sk-", _B + r"sk-(?:proj-|svcacct-|admin-|or-v1-)?(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}"),
    _rule("google_api_key", "AIza", _B + r"AIza[A-Za-z0-9_-]{35}" + _E),
    _rule("google_oauth", "GOCSPX- ya29.", _B + r"(?:GOCSPX-[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,})"),
    _rule("slack_token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- hooks.slack.com", _B + r"xox[abeoprs]-[A-Za-z0-9-]{10,}|" + _B + r"xapp-[0-9]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/(?P<value>T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{16,})"),
    _rule("stripe_key", "sk_live_ sk_test_ rk_live_ rk_test_ pk_live_ pk_test_ whsec_", _B + r"(?:[srp]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})"),
    _rule("npm_token", "npm_", _B + r"npm_[A-Za-z0-9]{36}" + _E),
    _rule("pypi_token", "pypi-", _B + r"pypi-[A-Za-z0-9_-]{40,}"),
    _rule("huggingface_token", "hf_", _B + r"hf_[A-Za-z0-9]{30,}" + _E),
    _rule("model_api_key", "gsk_ xai- pplx- r8_", _B + r"(?:gsk_|xai-|pplx-|r8_)[A-Za-z0-9]{30,}"),
    _rule("sendgrid_key", "SG.", _B + r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _rule("digitalocean_token", "doo_v1_ dop_v1_ dor_v1_", _B + r"do[opr]_v1_[a-f0-9]{40,}"),
    _rule("shopify_token", "shpat_ shpca_ shppa_ shpss_", _B + r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _rule("vault_token", "hvs. hvb.", _B + r"hv[sb]\.[A-Za-z0-9_-]{24,}"),
    _rule("docker_token", "dckr_", _B + r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    _rule("cloud_token", "dapi lin_api_ figd_ PMAK- glsa_ sntrys_ rubygems_", _B + r"(?:dapi[a-f0-9]{32}|lin_api_[A-Za-z0-9]{32,}|figd_[A-Za-z0-9_-]{32,}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|glsa_[A-Za-z0-9]{32}_[a-f0-9]{8}|sntrys_[A-Za-z0-9+/=_]{40,}|rubygems_[a-f0-9]{48})"),
    _rule("age_key", "AGE-SECRET-KEY-", _B + r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    _rule("telegram_token", ":AA", r"(?<=[0-9]{8}):AA[A-Za-z0-9_-]{33}" + _E),
    _rule("mail_key", "key-", _B + r"key-[a-f0-9]{32}" + _E),
    _rule("azure_key", "AccountKey= SharedAccessKey= ?sig= &sig=", r"(?:AccountKey|SharedAccessKey|[?&]sig)=(?P<value>[A-Za-z0-9+/%]{40,}=*)"),
    _rule("web_token", "eyJ", _B + r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    _rule("password_in_url", "://", r"://[^\s/:@\"'<>{}$]{0,64}:(?P<value>[^\s/@\"'<>{}$]{4,128})@[A-Za-z0-9\[]"),
    _rule("webhook", "/api/webhooks/", r"/api/webhooks/[0-9]{15,}/(?P<value>[A-Za-z0-9_-]{40,})"),
)  # fmt: skip

NAMES: Final = ("key", "secret", "credential", "passw", "passphrase", "pwd", "token", "authorization")
KEYS: Final = re.compile(
    r"(?:api|secret|access|private|auth|signing|encryption|master|account|client|service|consumer|license)[_. -]?\Z",
    re.IGNORECASE,
)
"""What stands before the word key if it opens something; most keys only find something."""
NAMED: Final = re.compile(
    # What it is called, what stands between, and the value up to the end of the word or the quotation.
    r"(?P<name>key|secret|credential|passw(?:or)?d|passphrase|pwd|token|authorization)[A-Za-z0-9_.-]{0,24}[\"'`]?"
    r"[ \t]{0,3}(?:=>|:=|==|=|:|,)[ \t]{0,3}(?P<quote>[\"'`]?)(?:(?:Basic|Bearer|Token) +)?"
    r"(?P<value>[^\s\"'`<>(){}\[\],;\\]{8,512})",
    re.IGNORECASE,
)
UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
PLACEHOLDER: Final = re.compile(
    r"example|sample|placeholder|change.?me|replace|your[_-]|dummy|redacted|x{4,}|\*{3}|\.\.\.|1234567|abcdefg|"
    r"^(?:true|false|null|none|undefined|env|process|os|self|this|config|settings|secrets?|inputs?)\b",
    re.IGNORECASE,
)
