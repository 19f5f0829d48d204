"""Client of the fork server for mpiexec: hands its files and environment to a forked process.

    python -IS hand_over.py SOCKET

It is for what must start its processes by itself, as mpiexec does: this takes a hundredth of the
time that Python and the modules take. The socket is an abstract one, for rank PMI_RANK of MPICH.
"""

import os
import socket
import sys
import time

if __name__ == "__main__":
    with socket.socket(socket.AF_UNIX) as other:
        while True:
            try:
                other.connect(f"\0{sys.argv[1]}-{os.environ['PMI_RANK']}")
                break
            except ConnectionRefusedError:  # not yet
                time.sleep(0.001)
        environment = b"\0".join(name + b"=" + text for name, text in os.environb.items())
        socket.send_fds(other, [environment], [0, 1, 2, int(os.environ["PMI_FD"])])
        other.shutdown(socket.SHUT_WR)
        answer = other.recv(1)
        other.recv(1)  # it is gone
    sys.exit(answer[0] if answer else 1)
