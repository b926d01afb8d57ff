"""The only ways out of a sandbox: key broker, host proxy, relay.

Broker and proxy listen on unix sockets of the host, which a sandbox without a network binds; forwarder.py relays to
them from the loopback interface inside. Nothing here trusts its peer, and every decision is reported.
"""
