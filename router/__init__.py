"""kvgate-router: puts each request of an OpenAI client on the shared, the state-file or the plain route."""
