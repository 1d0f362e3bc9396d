"""Engines that are driven over the Hydra RPC: connections, what each can do, prefilling, and moving state."""
