"""The only ways out of a sandbox: a broker that holds the key of one model API, and a proxy to hosts named beforehand.

Both listen on unix sockets of the host, which a sandbox without a network binds; forwarder.py relays to them from the
loopback interface inside. Nothing in here trusts what is said by the other end, and every decision is told.
"""

from podium.egress.hosts import allowed_hosts
from podium.egress.inside import INSIDE, Inside, inside
from podium.egress.serving import serving

__all__ = ["INSIDE", "Inside", "allowed_hosts", "inside", "serving"]
