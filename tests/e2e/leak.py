"""A script: prints the secret in the environment in every encoding, in pieces that no single write shows whole.

python leak.py (out|err|both|much) [EXIT]
"""

import base64
import html
import json
import os
import sys
import urllib.parse


def encodings(secret: str) -> dict[str, bytes]:
    """Written without a look at how the mask does it."""
    raw = secret.encode()
    return {
        "raw": raw,
        "json": json.dumps(secret).encode(),
        "url": urllib.parse.quote(secret, safe="").encode(),
        "hex": raw.hex().encode(),
        "html": html.escape(secret).encode(),
        "base64": base64.b64encode(raw),
        "base64_after_one": base64.b64encode(b"x" + raw),
        "base64_after_two": base64.b64encode(b"xy" + raw),
        "base64_url": base64.urlsafe_b64encode(raw),
        "base32": base64.b32encode(raw).rstrip(b"="),
        "hex_upper": raw.hex().upper().encode(),
        "bytes_of_a_dump": raw.hex(" ").encode(),
        "bytes_of_an_escape": "".join(f"\\x{byte:02x}" for byte in raw).encode(),
        "bytes_of_a_list": ", ".join(f"0x{byte:02x}" for byte in raw).encode(),
        "bytes_as_numbers": ", ".join(map(str, raw)).encode(),
    }


def main(where: str, code: str = "0") -> None:
    streams = {"out": [1], "err": [2], "both": [1, 2], "much": [1]}[where]
    for stream in streams:
        for name, text in encodings(os.environ["TOKEN"]).items():
            os.write(stream, f"{name}: ".encode())
            for at in range(0, len(text), 3):
                os.write(stream, text[at : at + 3])
            os.write(stream, b"\n")
    if where == "much":
        line = os.environ["TOKEN"].encode() + b" " + b"." * 1000 + b"\n"
        for _ in range(3000):
            os.write(1, line)
    sys.exit(int(code))


if __name__ == "__main__":
    main(*sys.argv[1:])
