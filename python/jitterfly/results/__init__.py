"""What the samples of a study say: estimates, their arrangement for figures, tables."""
