"""Figures of the papers (matplotlib): redundancy, overhead, fits, budgets, theory, congestion."""
