"""Hostile output of agents, answers of services, and files that people and agents leave: how to read each."""

from __future__ import annotations

from typing import Final

STREAMS: Final = """
import json
from pathlib import Path
from podium.ports.agent import AgentRequest
from podium.process.launch import Finished
from podium.process.output import CapturedOutput
from podium.adapters.agents.registry import built_in
MEGA = 1 << 20
NONE = CapturedOutput(b"", 0, b"")
def large():
    import os, tempfile
    path = Path(tempfile.mkdtemp()) / "stderr"
    path.touch()
    os.truncate(path, 256 * MEGA)
    return CapturedOutput(b"", 256 * MEGA, None, path)
def conversation(kind, **config):
    request = AgentRequest(agent="a", config=config, path="p", step="s", visit=1, attempt=1, prompt="x", schema={"type": "object"},
                           model="m" if kind == "gemini" else None, project=Path("/x"), cwd=Path("/x"), home=Path("/x"), nonce="n")
    return built_in(kind).new_adapter().prepare(request)[1]
def read(kind, data, piece=65536, stderr=NONE, code=0, **config):
    talk = conversation(kind, **config)
    for at in range(0, len(data), piece):
        list(talk.feed(data[at:at + piece]))
    ended = Finished(exit_code=code, signal=None, timed_out=False, duration_s=1.0, stdout=NONE, stderr=stderr)
    talk.finish(ended)
def acp(data, piece=65536):
    read("acp", data, piece, command=["x"])
"""

_LINES: Final = {
    "a line of empty objects": 'b\'{"type":"result","x":[\' + b"{}," * (2 * MEGA) + b"{}]}\\n"',
    "a deep line": 'b\'{"a":\' * 200_000 + b"\\n"',
    "an endless line": 'b"x" * (40 * MEGA)',
    "a long text": 'b\'{"type":"result","subtype":"success","result":"\' + "\U0001f600".encode() * MEGA + b\'"}\\n\'',
    "many short lines": 'b"{}\\n" * 300_000',
    "many short records": 'b\'{"type":"x"}\\n\' * 150_000',
}
_KINDS: Final = {
    "claude": 'read("claude", {data})',
    "codex": 'read("codex", {data})',
    "gemini": 'read("gemini", {data})',
    "acp": "acp({data})",
}
STREAM_CASES: Final = {
    f"{kind}: {name}": (STREAMS, call.format(data=data))
    for kind, call in _KINDS.items()
    for name, data in _LINES.items()
} | {
    "claude: a line in small pieces": (STREAMS, 'read("claude", b"x" * (4 * MEGA), piece=512)'),
    "claude: a number of many digits": (STREAMS, 'read("claude", b\'{"total_cost_usd":\' + b"9" * MEGA + b"}\\n")'),
    "command: a long answer": (STREAMS, 'read("command", b"x" * (40 * MEGA), command=["x"])'),
    "command: an answer of empty objects": (STREAMS, 'read("command", b"[" + b"{}," * MEGA + b"{}]", command=["x"])'),
    "command: an answer of many short lines": (STREAMS, 'read("command", b"a\\n" * (2 * MEGA), command=["x"])'),
    "claude: much on stderr": (STREAMS, 'read("claude", b"", stderr=large(), code=1)'),
    "codex: much on stderr": (STREAMS, 'read("codex", b"", stderr=large(), code=1)'),
    "gemini: much on stderr": (STREAMS, 'read("gemini", b"", stderr=large(), code=1)'),
    "acp: much on stderr": (STREAMS, 'read("acp", b"", stderr=large(), code=1, command=["x"])'),
    "command: much on stderr": (STREAMS, 'read("command", b"", stderr=large(), code=1, command=["x"])'),
    "command: a deep answer": (STREAMS, 'read("command", b"[" * MEGA, command=["x"])'),
}  # fmt: skip

ANSWERS: Final = """
from podium.workflow.contracts.single_json import NotOneValue, one_json
MEGA = 1 << 20
def read(text):
    try:
        one_json(text)
    except NotOneValue:
        pass
"""
ANSWER_CASES: Final = {
    "answer: a field twice among many": (ANSWERS, 'read("{" + ",".join(f\'"{n}":1\' for n in range(150_000)) + \',"149999":2}\')'),
    "answer: empty objects": (ANSWERS, 'read("[" + "{}," * (2 * MEGA) + "{}]")'),
    "answer: deep": (ANSWERS, 'read("[" * (4 * MEGA))'),
    "answer: a fence that does not end": (ANSWERS, 'read("```json\\n" + "`" * (4 * MEGA))'),
    "answer: a number of many digits": (ANSWERS, 'read("9" * (4 * MEGA))'),
    "answer: a long text": (ANSWERS, 'read(chr(34) + chr(0x1F600) * MEGA + chr(34))'),
    "answer: escaped quotes without an end": (ANSWERS, 'read(chr(34) + (chr(92) + chr(34) + ",") * MEGA)'),
    "answer: white space": (ANSWERS, 'read(" " * (8 * MEGA))'),
}  # fmt: skip

SERVICES: Final = """
import asyncio, socket, threading
from podium.adapters.agents.shared.http import BrokenOff, Silent, Unreachable, post
def served(*pieces, repeat=1):
    server = socket.create_server(("127.0.0.1", 0))
    def serve():
        peer, _ = server.accept()
        with peer:
            peer.recv(65536)
            try:
                peer.sendall(b"HTTP/1.1 200 OK\\r\\n\\r\\n" + pieces[0])
                for _ in range(repeat):
                    peer.sendall(pieces[-1])
            except OSError:
                pass
    threading.Thread(target=serve, daemon=True).start()
    try:
        return asyncio.run(post(f"http://127.0.0.1:{server.getsockname()[1]}/", {})).body
    except (BrokenOff, Silent, Unreachable):
        return b""
asyncio.run(asyncio.sleep(0))
import httpx2, ssl
served(b"{}")
from podium.files import bounded_json
def parsed(body):
    try:
        bounded_json.loads(body)
    except (ValueError, RecursionError):
        pass
"""
SERVICE_CASES: Final = {
    "service: an endless answer": (SERVICES, 'parsed(served(b"", b"x" * (1 << 20), repeat=64))'),
    "service: empty objects": (SERVICES, 'parsed(served(b"[", b"{}," * (1 << 18), repeat=6))'),
    "service: a deep answer": (SERVICES, 'parsed(served(b"", b"[" * (1 << 20), repeat=4))'),
}  # fmt: skip

FILES: Final = """
import os, tempfile
from pathlib import Path
from podium.errors import PodiumError
folder = Path(tempfile.mkdtemp())
def made(name, size=0, content=b""):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if size:
        os.truncate(path, size)
    return path
def refused(call, *args):
    try:
        call(*args)
    except (PodiumError, OSError, ValueError, RecursionError):
        pass
from podium.workflow.source import yaml
from podium.files.inside import read_file, MAX_TEXT_FILE
from podium.recording import decode_recording, MAX_RECORDING
from podium.app.author.role_packs import _files
from podium.app.archive.check_export import check_export
from podium.engine.inbox_files import _fields, _Unreadable, is_answered
from podium.egress.request_head import Refused, parse_head
from podium.egress.server_tools import NotAllowed, inspect
from podium.egress.request_body import InvalidBody
from podium.credentials import read_returned_login
def inspected(body):
    try:
        inspect(body, frozenset())
    except (NotAllowed, InvalidBody):
        pass
def inbox(path):
    try:
        _fields(path)
    except _Unreadable:
        pass
def head(raw):
    try:
        parse_head(raw)
    except Refused:
        pass
GIGA = 1 << 30
"""
FILE_CASES: Final = {
    "workflow: a sparse file": (FILES, 'yaml.read(made("w.yaml", 4 * GIGA))'),
    "workflow: deep": (FILES, 'yaml.load("a: " + "[" * 500_000, name="w")'),
    "workflow: deep by indentation": (FILES, 'yaml.load("\\n".join(" " * n + "a:" for n in range(1400)), name="w")'),
    "workflow: aliases": (FILES, 'yaml.load("a: &a [1]\\n" + "b: [*a, *a, *a]\\n" * 20_000, name="w")'),
    "workflow: many keys": (FILES, 'yaml.load("".join(f"k{n}: 1\\n" for n in range(60_000)), name="w")'),
    "workflow: one long word": (FILES, 'yaml.load("a: " + "x" * 1_000_000, name="w")'),
    "prompt: a sparse file": (FILES, 'refused(read_file, made("p.md", 4 * GIGA), MAX_TEXT_FILE)'),
    "prompt: a pipe": (FILES, 'os.mkfifo(folder / "p.md"); refused(read_file, folder / "p.md", MAX_TEXT_FILE)'),
    "prompt: a device": (FILES, 'refused(read_file, Path("/dev/zero"), MAX_TEXT_FILE)'),
    "recording: a sparse file": (FILES, 'refused(read_file, made("r.json", 4 * GIGA), MAX_RECORDING)'),
    "recording: empty objects": (FILES, 'refused(decode_recording, b"[" + b"{}," * (4 << 20) + b"{}]", "r")'),
    "recording: deep": (FILES, 'refused(decode_recording, b\'{"a":\' * 1_000_000, "r")'),
    "roles: a sparse file": (FILES, 'refused(_files, str(made("roles.yaml", 4 * GIGA)))'),
    "export: a sparse manifest": (FILES, 'made("manifest.json", 2 * GIGA) and None; refused(read_file, folder / "manifest.json", 8 << 20)'),
    "export: a manifest of empty objects": (FILES, 'made("manifest.json", content=b"[" + b"{}," * (2 << 20) + b"{}]"); check_export(folder)'),
    "export: a deep manifest": (FILES, 'made("manifest.json", content=b"[" * (4 << 20)); check_export(folder)'),
    "inbox: a sparse file": (FILES, 'inbox(made("a.yaml", 4 * GIGA)); is_answered((str(folder / "a.yaml"), 4 * GIGA, 0))'),
    "inbox: a pipe": (FILES, 'os.mkfifo(folder / "a.yaml"); inbox(folder / "a.yaml"); is_answered((str(folder / "a.yaml"), 0, 0))'),
    "inbox: a link to a device": (FILES, '(folder / "a.yaml").symlink_to("/dev/zero"); inbox(folder / "a.yaml")'),
    "inbox: deep": (FILES, 'inbox(made("a.yaml", content=b"answer: " + b"[" * 900_000))'),
    "inbox: many lines": (FILES, 'inbox(made("a.yaml", content=b"".join(b"k%d: 1\\n" % n for n in range(60_000))))'),
    "inbox: blank lines for the pattern": (FILES, 'is_answered((str(made("a.yaml", content=b"answer:" + b"\\n - " * 200_000)), 1, 1))'),
    "login: a sparse file": (FILES, 'made("l.json", 4 * GIGA); read_returned_login(folder, "l.json")'),
    "broker: a head of many fields": (FILES, 'head(b"POST / HTTP/1.1\\r\\n" + b"a: b\\r\\n" * 10_000)'),
    "broker: a head of spaces": (FILES, 'head(b"POST / HTTP/1.1\\r\\na: " + b" \\t" * 30_000 + b"\\x00")'),
    "broker: a body of empty objects": (FILES, 'inspected(b\'{"messages":[\' + b"{}," * (10 << 20) + b"{}]}")'),
    "broker: a body of short strings": (FILES, 'inspected(b\'{"messages":[\' + b\'"",\' * (8 << 20) + b"1]}")'),
    "broker: a deep body": (FILES, 'inspected(b\'{"messages":\' * 1_000_000)'),
    "broker: a body of quotes": (FILES, 'inspected(b\'{"a":"\' + b"\\\\" * (30 << 20))'),
    "broker: escaped quotes without an end": (FILES, 'inspected(b\'{"a":"\' + b\'\\\\"\' * (10 << 20))'),
    "broker: a body that is one text": (FILES, 'inspected(b\'{"a":"\' + "\U0001f600".encode() * (7 << 20) + b\'"}\')'),
    "broker: a body without an end of a text": (FILES, 'inspected(b\'{"a":\' + b\'"a\' * (10 << 20))'),
}  # fmt: skip
