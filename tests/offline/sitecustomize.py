"""With this folder on PYTHONPATH, Python reaches this machine only. Any other address is refused, and written down in the
file that OFFLINE_LOG names."""

import os
import socket

HERE = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "", socket.gethostname())


def _refuse(host):
    if os.environ.get("OFFLINE_LOG"):
        with open(os.environ["OFFLINE_LOG"], "a") as log:
            log.write(f"{host}\n")
    raise socket.gaierror(socket.EAI_AGAIN, "the network is cut")


def _cut(name, host_of):
    real = getattr(socket, name, None) or getattr(socket.socket, name)

    def checked(*args, **more):
        host = host_of(*args, **more)
        host = host.decode() if isinstance(host, bytes) else host
        if host is not None and host not in HERE:
            _refuse(host)
        return real(*args, **more)

    setattr(socket if hasattr(socket, name) else socket.socket, name, checked)


def _peer(sock, address, *_):
    return address[0] if sock.family in (socket.AF_INET, socket.AF_INET6) else None


_cut("getaddrinfo", lambda host, *_, **__: host)
_cut("gethostbyname", lambda host: host)
_cut("connect", _peer)
_cut("connect_ex", _peer)
