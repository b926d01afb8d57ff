"""A script, not a module: relays ports, given as host:port=socket before `--`, then becomes the command after it.

With `--loopback` it first enables the loopback interface of a new network, and with `--user=UID:GID` it becomes that user.

It runs in a sandbox without a network, before anything else, so that the ports are open when the command starts. The
relay is a separate, detached process, so that a command that waits for all its children does not wait for it; it ends
with the command. It has no secret and decides nothing: the servers at the sockets do.

Every launch waits for it, so it imports no module written in Python: `socket` and `selectors` alone would take as long
as the interpreter itself.
"""

import _socket
import os
import select
import sys

PIECE = 64 * 1024
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1
READ, WRITE = select.EPOLLIN, select.EPOLLOUT


class Pipe:
    """One direction of a connection. It reads again only after everything was written, so a slow reader slows the writer."""

    def __init__(self, source: _socket.socket, sink: _socket.socket) -> None:
        self.source, self.sink = source, sink
        self.buffer = b""
        self.over = False

    def may_read(self) -> bool:
        return not self.buffer and not self.over

    def read(self) -> None:
        self.buffer = self.source.recv(PIECE)
        self.over = not self.buffer
        self.write()

    def write(self) -> None:
        if self.buffer:
            try:
                self.buffer = self.buffer[self.sink.send(self.buffer) :]
            except BlockingIOError:
                return
        if self.over:
            # Close only this direction, because the response may still arrive in the other.
            self.sink.shutdown(_socket.SHUT_WR)


class Connection:
    """A pair of sockets, by their descriptors."""

    def __init__(self, first: _socket.socket, second: _socket.socket) -> None:
        self.ends = {first.fileno(): first, second.fileno(): second}
        self.pipes = (Pipe(first, second), Pipe(second, first))

    def advance(self, number: int, events: int) -> bool:
        """Read and write what is possible; returns whether the connection is still open. Errors show at the next call."""
        end = self.ends[number]
        try:
            for pipe in self.pipes:
                if pipe.sink is end and pipe.buffer and events & ~READ:
                    pipe.write()
                elif pipe.source is end and pipe.may_read() and events & ~WRITE:
                    pipe.read()
        except BlockingIOError:
            pass
        except OSError:
            return False
        return not all(pipe.over and not pipe.buffer for pipe in self.pipes)

    def wanted_events(self, number: int) -> int:
        """The events to wait for; a socket that is watched without need would wake the loop all the time."""
        end, events = self.ends[number], 0
        for pipe in self.pipes:
            if pipe.source is end and pipe.may_read():
                events |= READ
            if pipe.sink is end and pipe.buffer:
                events |= WRITE
        return events


class Relay:
    def __init__(self, listeners: dict[_socket.socket, str]) -> None:
        self.listeners = {listener.fileno(): (listener, path) for listener, path in listeners.items()}
        self.connections: dict[int, Connection] = {}
        self.watched: dict[int, int] = {}
        self.epoll = select.epoll()

    def run(self, command: int) -> None:
        """Relay until the command, given by its pidfd, has ended."""
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
        is_open = connection.advance(number, events)
        for descriptor, end in connection.ends.items():
            self.watch(descriptor, connection.wanted_events(descriptor) if is_open else 0)
            if not is_open:
                del self.connections[descriptor]
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


def open_listener(pair: str) -> tuple[_socket.socket, str]:
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
        # Separate from the command's signals and output, which must end with the command.
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        os.chdir("/")
        Relay(listeners).run(command)
    finally:
        os._exit(0)


def enable_loopback() -> None:
    import fcntl

    request = b"lo".ljust(16, b"\0") + IFF_UP.to_bytes(2, sys.byteorder) + bytes(22)
    any_socket = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    fcntl.ioctl(any_socket.fileno(), SIOCSIFFLAGS, request)
    any_socket.close()


def become(user: str) -> None:
    uid, _, gid = user.partition(":")
    os.setgroups([])
    os.setgid(int(gid))
    os.setuid(int(uid))


def main() -> None:
    end = sys.argv.index("--")
    pairs = []
    for word in sys.argv[1:end]:
        if word == "--loopback":
            enable_loopback()
        elif word.startswith("--user="):
            become(word.removeprefix("--user="))
        else:
            pairs.append(word)
    start_relay(dict(map(open_listener, pairs)))
    command = sys.argv[end + 1 :]
    try:
        os.execvp(command[0], command)  # noqa: S606 - its purpose is to become the command
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        # The same codes as in shells and in process.run: not found, or not executable.
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":  # pragma: no cover (test_forwarder.py runs it as a script)
    main()
