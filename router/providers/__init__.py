"""Who prefills: a command started once per handoff, or a second llama-server."""
