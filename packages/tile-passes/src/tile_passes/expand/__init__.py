"""Expanding: passes that apply a Plan to the program, without a choice of their own."""
