"""Real llama-servers by name, and how to start them."""

from harness.real.errors import ServerDied, ServerError, ServerMissing
from harness.real.find import find_server
from harness.real.server import Server

__all__ = ["Server", "ServerDied", "ServerError", "ServerMissing", "find_server"]
