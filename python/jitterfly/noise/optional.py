"""A time that may be left out."""

from __future__ import annotations

from ..units import Time, parse_seconds, to_ticks


class OptionalSeconds:
    """A field of a dataclass that takes a `Time` above 0 or None, and holds seconds or None."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._owner = owner.__name__
        # What help() shows for a parameter: what may be passed.
        owner.__annotations__[name] = "float | str | None"
        self.__doc__ = "Seconds, as float, or None."

    def __get__(self, instance: object | None, owner: type | None = None) -> float | None:
        if instance is None:  # this is how dataclass asks for the default
            return None
        value: float | None = instance.__dict__[self._name]
        return value

    def __set__(self, instance: object, value: Time | None) -> None:
        try:
            seconds = None if value is None else parse_seconds(value, self._name, positive=True)
            if seconds is not None:
                to_ticks(seconds, self._name, positive=True)
        except ValueError as error:
            raise ValueError(f"{error} (in {self._owner})") from None
        instance.__dict__[self._name] = seconds
