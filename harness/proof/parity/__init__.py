"""Parity triage: whether two greedy replies are the same, and if not, whether it reads as rounding or as lost KV."""
