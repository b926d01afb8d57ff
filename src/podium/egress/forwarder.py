"""A script, not a module: relays from ports, given as host:port=socket up to `--`, and becomes the command that follows.

It runs within a sandbox that has no network, before anything else does: the ports answer when the command starts. What
relays is a process of its own, a child of nobody, so that a command which waits for all of its children does not wait
for it; it ends when the command does. It holds no secret and decides nothing: whoever listens at the sockets does.

Every launch waits for it. So it imports nothing that is written in Python: `socket` and `selectors` alone would take as
long as the interpreter itself.
"""

import _socket
import os
import select
import sys

PIECE = 64 * 1024
READ, WRITE = select.EPOLLIN, select.EPOLLOUT


class Pipe:
    """One direction of one connection. It reads again when all it has read is written: a slow reader slows the writer."""

    def __init__(self, source: _socket.socket, sink: _socket.socket) -> None:
        self.source, self.sink = source, sink
        self.held = b""
        self.over = False

    def may_read(self) -> bool:
        return not self.held and not self.over

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
            self.sink.shutdown(_socket.SHUT_WR)


class Connection:
    """Two ends, by the numbers under which the kernel says that something can be done with them."""

    def __init__(self, one: _socket.socket, other: _socket.socket) -> None:
        self.ends = {one.fileno(): one, other.fileno(): other}
        self.pipes = (Pipe(one, other), Pipe(other, one))

    def go_on(self, number: int, events: int) -> bool:
        """Whether it lives. An error or a hang-up shows itself to whoever reads or writes next."""
        end = self.ends[number]
        try:
            for pipe in self.pipes:
                if pipe.sink is end and pipe.held and events & ~READ:
                    pipe.write()
                elif pipe.source is end and pipe.may_read() and events & ~WRITE:
                    pipe.read()
        except BlockingIOError:
            pass
        except OSError:
            return False
        return not all(pipe.over and not pipe.held for pipe in self.pipes)

    def awaited(self, number: int) -> int:
        """Exactly what it can go on with: an end that is watched without need would wake us for ever."""
        end, events = self.ends[number], 0
        for pipe in self.pipes:
            if pipe.source is end and pipe.may_read():
                events |= READ
            if pipe.sink is end and pipe.held:
                events |= WRITE
        return events


class Relay:
    def __init__(self, listeners: dict[_socket.socket, str]) -> None:
        self.listeners = {listener.fileno(): (listener, path) for listener, path in listeners.items()}
        self.connections: dict[int, Connection] = {}
        self.watched: dict[int, int] = {}
        self.epoll = select.epoll()

    def run(self, command: int) -> None:
        """Until the command has ended, whose pidfd this is."""
        for number in (*self.listeners, command):
            self.watch(number, READ)
        while True:
            for number, events in self.epoll.poll():
                if number == command:
                    return
                if number in self.listeners:
                    self.accept(*self.listeners[number])
                elif number in self.connections:
                    self.serve(self.connections[number], number, events)

    def accept(self, listener: _socket.socket, path: str) -> None:
        try:
            number, _ = listener._accept()  # type: ignore[attr-defined]  # noqa: SLF001 - as socket.accept does
        except OSError:
            return
        client = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM, 0, number)
        server = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            server.connect(path)
        except OSError:
            client.close()
            server.close()
            return
        for end in (client, server):
            end.setblocking(False)
        client.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        connection = Connection(client, server)
        for number in connection.ends:
            self.connections[number] = connection
            self.watch(number, READ)

    def serve(self, connection: Connection, number: int, events: int) -> None:
        lives = connection.go_on(number, events)
        for one, end in connection.ends.items():
            self.watch(one, connection.awaited(one) if lives else 0)
            if not lives:
                del self.connections[one]
                end.close()

    def watch(self, number: int, events: int) -> None:
        before = self.watched.get(number, 0)
        if events and before:
            self.epoll.modify(number, events)
        elif events:
            self.epoll.register(number, events)
        elif before:
            self.epoll.unregister(number)
        self.watched[number] = events


def listening(pair: str) -> tuple[_socket.socket, str]:
    place, _, path = pair.partition("=")
    host, _, port = place.rpartition(":")
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind((host, int(port)))
    listener.listen(128)
    listener.setblocking(False)
    return listener, path


def start_relay(listeners: dict[_socket.socket, str]) -> None:
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
        Relay(listeners).run(command)
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
