"""Whether a decoder speaks llama-server's dialect: one clause of the protocol at a time.

A clause is a sentence that is true of llama-server, with the probe that shows it. Probes know the wire and nothing
of who answers, so the same ones judge the fake and a real server.
"""
