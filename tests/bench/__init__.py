"""The developers' benchmark of the engine: goals, peers, costs of noise sources, comparison."""
