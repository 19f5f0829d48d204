"""Pictures of one realization, from an event-by-event replay of it."""
