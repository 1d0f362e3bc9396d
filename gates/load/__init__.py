"""A load campaign against the router: thousands of requests, decoders that die, clients that leave, one verdict."""
