"""Proving that channels and asynchronous operations are used right, for every trip count."""
