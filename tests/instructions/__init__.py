"""Counts of instructions in the machine code of GPU kernels, and their limits (see count.py)."""
