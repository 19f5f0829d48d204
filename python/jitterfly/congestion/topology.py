"""What every network offers: its hosts, and its routes to the engine."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .. import _core
from ..fields import Component

MOST_HOSTS = 2**20


class Topology(Component, ABC):
    """Base of all networks; its routing is part of it."""

    @property
    @abstractmethod
    def hosts(self) -> int:
        """Endpoints, numbered from 0."""

    @property
    @abstractmethod
    def routing_name(self) -> str:
        """How it routes, for tables and pictures."""

    @abstractmethod
    def give(self, program: _core.CongestionProgram, whole: bool = False) -> None:
        """Hands its routes to a program of the engine; whole: with a counter for every edge."""
