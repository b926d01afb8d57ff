"""A script, not a module: relays from ports, given as host:port=socket up to `--`, and becomes the command that follows.

It runs within a sandbox that has no network, before anything else does: the ports answer when the command starts. What
relays is a process of its own, a child of nobody, so that a command which waits for all of its children does not wait
for it; it ends when the command does. It holds no secret and decides nothing: whoever listens at the sockets does.
"""

import os
import selectors
import socket
import sys
from collections.abc import Callable

PIECE = 64 * 1024


class Pipe:
    """One direction of one connection. It reads again when all it has read is written: a slow reader slows the writer."""

    def __init__(self, source: socket.socket, sink: socket.socket) -> None:
        self.source, self.sink = source, sink
        self.held = b""
        self.over = False

    def read(self) -> None:
        self.held = self.source.recv(PIECE)
        self.over = not self.held
        self.write()

    def write(self) -> None:
        if self.held:
            try:
                self.held = self.held[self.sink.send(self.held) :]
            except BlockingIOError:
                return
        if self.over:
            # An end in one direction is not the end: the answer may still be on its way.
            self.sink.shutdown(socket.SHUT_WR)


class Connection:
    def __init__(self, one: socket.socket, other: socket.socket, selector: selectors.BaseSelector) -> None:
        self.ends = (one, other)
        self.pipes = (Pipe(one, other), Pipe(other, one))
        self.selector = selector
        self.watch()

    def ready(self, end: socket.socket, events: int) -> None:
        try:
            for pipe in self.pipes:
                if pipe.sink is end and pipe.held and events & selectors.EVENT_WRITE:
                    pipe.write()
                elif pipe.source is end and self.may_read(pipe) and events & selectors.EVENT_READ:
                    pipe.read()
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        self.watch()

    def watch(self) -> None:
        """Waits for exactly what can be gone on with: a socket that is watched without need would wake us for ever."""
        if all(pipe.over and not pipe.held for pipe in self.pipes):
            self.close()
            return
        for end in self.ends:
            events = 0
            for pipe in self.pipes:
                if pipe.source is end and self.may_read(pipe):
                    events |= selectors.EVENT_READ
                if pipe.sink is end and pipe.held:
                    events |= selectors.EVENT_WRITE
            watch(self.selector, end, events, self)

    @staticmethod
    def may_read(pipe: Pipe) -> bool:
        return not pipe.held and not pipe.over

    def close(self) -> None:
        for end in self.ends:
            watch(self.selector, end, 0, self)
            end.close()


def watch(selector: selectors.BaseSelector, end: socket.socket, events: int, connection: Connection) -> None:
    is_watched = end in selector.get_map()
    if events and is_watched:
        selector.modify(end, events, connection.ready)
    elif events:
        selector.register(end, events, connection.ready)
    elif is_watched:
        selector.unregister(end)


def accept(listener: socket.socket, path: str, selector: selectors.BaseSelector) -> None:
    try:
        client, _ = listener.accept()
    except OSError:
        return
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(path)
    except OSError:
        client.close()
        server.close()
        return
    for end in (client, server):
        end.setblocking(False)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    Connection(client, server, selector)


def relay(listeners: dict[socket.socket, str], command: int) -> None:
    """Until the command has ended, whose pidfd this is."""
    selector = selectors.DefaultSelector()
    for listener, path in listeners.items():
        listener.setblocking(False)
        selector.register(listener, selectors.EVENT_READ, acceptor(listener, path, selector))
    selector.register(command, selectors.EVENT_READ, None)
    while True:
        for key, events in selector.select():
            if key.data is None:
                return
            # What came before it in the same round may have closed it.
            if key.fd in selector.get_map():
                key.data(key.fileobj, events)


def acceptor(
    listener: socket.socket, path: str, selector: selectors.BaseSelector
) -> Callable[[socket.socket, int], None]:
    return lambda _end, _events: accept(listener, path, selector)


def listening(pair: str) -> tuple[socket.socket, str]:
    place, _, path = pair.partition("=")
    host, _, port = place.rpartition(":")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, int(port)))
    listener.listen(128)
    return listener, path


def start_relay(listeners: dict[socket.socket, str]) -> None:
    command = os.pidfd_open(os.getpid())
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    if os.fork():
        os._exit(0)
    try:
        # Not with the command's signals, and not with its output: that ends when the command does.
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        os.chdir("/")
        relay(listeners, command)
    finally:
        os._exit(0)


def main() -> None:
    end = sys.argv.index("--")
    start_relay(dict(map(listening, sys.argv[1:end])))
    command = sys.argv[end + 1 :]
    try:
        os.execvp(command[0], command)  # noqa: S606 - to become the command is its purpose
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        # What shells say, and what process.run says: not found, or not to be started.
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":  # pragma: no cover (test_forwarder.py runs it as what it is)
    main()
