"""Held out from the rules: secrets and look-alikes in the forms in which they stand in files, made from a seed.

Nothing here is a real credential. The prefixes are put together at run time, so that no scanner of repositories stops at
this file.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator
from typing import Final

WORD: Final = string.ascii_letters + string.digits
HEX: Final = "0123456789abcdef"
WRAPS: Final[tuple[Callable[[str], str], ...]] = (
    lambda value: f"The service answers to {value} since Monday.",
    lambda value: f"- {value}",
    lambda value: f'curl -H "X-Auth: {value}" https://packages.example/v1',
    lambda value: json.dumps({"a": 1, "settings": {"value": value, "more": []}}),
    lambda value: f"<entry>{value}</entry>",
    lambda value: f"+    client = connect('{value}')",
    lambda value: f"export THING={value}\n",
    lambda value: f"value: {value} # rotate",
)
NAMES: Final[tuple[Callable[[str], str], ...]] = (
    lambda value: f"DB_PASSWORD={value}",
    lambda value: f'  "clientSecret": "{value}",',
    lambda value: f"api-key: {value}",
    lambda value: f"password = '{value}'",
    lambda value: f"spring.datasource.password={value}",
    lambda value: f"Authorization: Bearer {value}",
    lambda value: f'const authToken = "{value}";',
    lambda value: f"<add key='ApiKey' value='x'/> secret_key: \"{value}\"",
    lambda value: f"    aws_secret_access_key = {value}",
    lambda value: f"REDIS_URL=redis://default:{value}@cache.example:6379/0",
    lambda value: f"ENV ACCESS_TOKEN {value}".replace("TOKEN ", "TOKEN="),
    lambda value: f'"private_key": "{value}"',
)


class Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def some(self, alphabet: str, length: int) -> str:
        return "".join(self.random.choices(alphabet, k=length))

    def known(self) -> Iterator[str]:
        """One of each vendor's kind."""
        some = self.some
        yield "AK" + "IA" + some(string.ascii_uppercase + "234567", 16)
        yield "gh" + "p_" + some(WORD, 36)
        yield "github" + "_pat_" + some(WORD, 22) + "_" + some(WORD, 59)
        yield "gl" + "pat-" + some(WORD, 20)
        yield "sk-" + "ant-api03-" + some(WORD + "_-", 90) + "7"
        yield "sk-" + "proj-" + some(WORD, 40) + "9"
        yield "AI" + "za" + some(WORD, 35)
        yield "GOC" + "SPX-" + some(WORD, 28)
        yield "xo" + "xb-" + some(string.digits, 12) + "-" + some(string.digits, 12) + "-" + some(WORD, 24)
        yield "sk_" + "live_" + some(WORD, 24)
        yield "np" + "m_" + some(WORD, 36)
        yield "py" + "pi-AgEIcHlwaS5vcmc" + some(WORD + "_-", 70)
        yield "h" + "f_" + some(WORD, 34)
        yield "S" + "G." + some(WORD, 22) + "." + some(WORD, 43)
        yield "do" + "p_v1_" + some(HEX, 64)
        yield "shp" + "at_" + some(HEX, 32)
        yield "hv" + "s." + some(WORD, 30)
        yield "AGE-" + "SECRET-KEY-1" + some(string.ascii_uppercase + string.digits, 58)
        yield some(string.digits, 10) + ":A" + "A" + some(WORD, 33)
        yield (
            ".".join(
                base64.urlsafe_b64encode(part.encode()).decode().rstrip("=")
                for part in ('{"alg":"HS256"}', json.dumps({"sub": some(WORD, 12)}, separators=(",", ":")))
            )
            + "."
            + some(WORD, 43)
        )
        kind = self.random.choice(("RSA ", "EC ", "OPENSSH ", ""))
        body = "\n".join(some(WORD + "+/", 64) for _ in range(5))
        yield f"-----BEGIN {kind}PRIVATE" + f" KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"

    def positives(self) -> Iterator[tuple[str, str]]:
        """A text, and the value in it that must not stay."""
        for _ in range(8):
            for value in self.known():
                yield self.random.choice(WRAPS)(value), value
        for number in range(96):
            value = self.random.choice(
                (
                    lambda: self.some(WORD, 20) + "4",
                    lambda: self.some(HEX, 40),
                    lambda: self.some(WORD + "+/", 39) + "1",
                    lambda: self.some(WORD + "!%*-_", 15) + "8z",
                )
            )()
            yield NAMES[number % len(NAMES)](value), value

    def negatives(self) -> Iterator[str]:
        for number in range(70):
            yield from self._look_alikes(number)

    def _look_alikes(self, number: int) -> Iterator[str]:
        digest = hashlib.sha256(str(number).encode()).hexdigest()
        token = str(uuid.UUID(int=self.random.getrandbits(128)))
        blob = base64.b64encode(self.random.randbytes(300)).decode()
        yield f"commit {digest[:40]}\nAuthor: Ann <ann@example.com>"
        yield f'"node_modules/left-pad": {{"version": "1.{number}.0", "integrity": "sha512-{blob[:86]}=="}}'
        yield f"requests==2.{number}.0 \\\n    --hash=sha256:{digest}"
        yield f'id: {token}\ncache_key: "{digest[:32]}"'
        yield f"<img src='data:image/png;base64,{blob}'>"
        yield f"!function(e,t){{var n=t.key,r=e.token;return n&&r?a{number}(r,n):void 0}}(window,{{}});"
        yield f"def token_at(self, index: int) -> Token:\n    return self.tokens[index + {number}]"
        yield f"password = getpass.getpass('Password {number}: ')"
        yield f"api_key = os.environ['SERVICE_{number}_API_KEY']"
        yield f"secret: ${{{{ secrets.DEPLOY_{number} }}}}\ntoken: your-token-here-{number}"
        yield f"The password must have at least {number + 8} characters, one digit and one capital letter."
        yield f"https://packages.example/{digest[:12]}/file-{number}.tar.gz?download=true"
        yield f"public_key = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{blob[:40]} ann@example.com'"
        yield f"sort_key={digest[:16]}, primary_key=True, foreign_key='users.id_{number}'"
        yield f"max_tokens: {number * 1000}\ntokenizer: cl100k_base\nnext_token = stream.read_token_{number}()"
