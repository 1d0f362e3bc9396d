"""Steps: what is done to a decoder under test, one after the other, where requests alone do not say enough."""
