"""Whether the head of a Ray cluster is still there.

Once the head is gone, calls of Ray wait, and after a minute Ray ends the process of whoever made
them, with no error that Python could see. So the head is looked after between calls, and found
missing long before that.
"""

from __future__ import annotations

import socket
import time
from typing import Any, NoReturn

from multitudes.errors import ResourceError
from multitudes.progress import speaks_in_flags

SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_WITHOUT_HEAD = 3.0  # a head that is there again within this was not missed

Address = tuple[str, int]


class Head:
    """What this process needs of a cluster: its head, and Ray's own process on this machine.

    Parameters
    ----------
    addresses : sequence of (host, port)
        Where they answer. One that does not answer from the start, because it cannot be reached
        from here, is not looked after.
    ours : bool
        Whether `ray_cluster` made the connection, and so ends it.
    """

    def __init__(self, addresses: list[Address], *, ours: bool) -> None:
        self._addresses = [address for address in addresses if answers(address)]
        self._ours = ours
        self._looked = time.monotonic()
        self.lost = False

    @classmethod
    def of(cls, ray: Any, address: str | None, *, ours: bool) -> Head:
        """Return the head of the cluster that Ray is connected to, by the address it was given."""
        if ray.util.client.ray.is_connected():  # through a server on the head
            return cls([parsed(address)] if address and ":" in address else [], ours=ours)
        context = ray.get_runtime_context()
        here = context.get_node_id()
        nodes = [
            (node["NodeManagerAddress"], int(node["NodeManagerPort"]))
            for node in ray.nodes()
            if node["NodeID"] == here
        ]
        return cls([parsed(context.gcs_address), *nodes], ours=ours)

    def check(self, *, at_once: bool = False) -> None:
        """Raise `ResourceError` if the head is gone; looks every second, or at once."""
        if not at_once and time.monotonic() < self._looked + SECONDS_BETWEEN_LOOKS:
            return
        for address in self._addresses:
            patience = time.monotonic() + SECONDS_WITHOUT_HEAD
            while not answers(address):
                if time.monotonic() > patience:
                    self._give_up(address)
                time.sleep(SECONDS_BETWEEN_LOOKS / 4)
        self._looked = time.monotonic()

    def _give_up(self, address: Address) -> NoReturn:
        self.lost = True
        option = "--checkpoint FOLDER" if speaks_in_flags() else "checkpoint='FOLDER'"
        leave = "" if self._ours else " (before that call ray.shutdown(), or Ray ends this process)"
        raise ResourceError(
            f"the head of the Ray cluster is gone: nobody answers at {address[0]}:{address[1]}. "
            f"Start the cluster again, and train again{leave}: what was finished is taken over if "
            f"the training was started with {option}, otherwise it begins anew"
        )


def parsed(address: str) -> Address:
    """Return the host and the port of ``"host:6379"`` or ``"ray://host:10001"``."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    return host.strip("[]"), int(port)


def answers(address: Address) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection(address, timeout=SECONDS_BETWEEN_LOOKS).close()
    except (OSError, OverflowError):
        return False
    return True
