"""Pictures of one realization, from an event-by-event replay of it."""

from .replay import MOST_RANKS, Replay, check_size

__all__ = ["MOST_RANKS", "Replay", "check_size"]
