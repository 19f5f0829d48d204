"""The developers' benchmark of the engine: what `jitterfly bench` measures, and what judges it."""
