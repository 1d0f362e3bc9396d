"""Real llama-servers by name, and how to start them."""

from harness.real.errors import ServerDied, ServerMissing, UnknownServer
from harness.real.find import find_server, server_there
from harness.real.server import Server

__all__ = ["Server", "ServerDied", "ServerMissing", "UnknownServer", "find_server", "server_there"]
