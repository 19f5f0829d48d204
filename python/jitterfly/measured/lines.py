"""Lines of a periodogram, and the fundamentals they belong to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .spectrum import Periodogram, power_at

_MOST_DIVISORS = 64
_LEAST_POWER = 0.1  # of one harmonic, that others have: several events may share a period
_ALIKE = 0.5  # of the strongest: all harmonics of what is strictly periodic are as strong
_LOOKED_AT = 10_000  # events for an exact power
_WEAK = 0.03  # of the strongest: what is weaker may be clearer when that is taken out
_SURE = 1e-6
_OFF = 0.2  # of a step of frequency: how well a parabola tells a peak
_NEAR = 3  # bins around a line, which belong to it

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """A fundamental: Hz, the Hz by which it may be off, power of its strongest harmonic."""

    frequency: float
    width: float
    power: float
    false_alarm: float


class Lines:
    """Finds lines, the strongest first; what was found is hidden with all its harmonics."""

    def __init__(self, spectrum: Periodogram, starts: Floats, length: float):
        self.spectrum, self.starts, self.length = spectrum, starts, length
        self.open = np.ones(len(spectrum.frequency), dtype=bool)
        frequency = spectrum.frequency
        self.step = float(frequency[1] - frequency[0]) if len(frequency) > 1 else 1.0

    def find(self, false_alarm: float, most: int) -> list[Line]:
        """Fundamentals of lines that random arrivals have with at most this probability."""
        found: list[Line] = []
        power = self.spectrum.power
        limit = self.spectrum.threshold(false_alarm) if len(power) else np.inf
        for _ in range(10 * most):  # some may be no lines
            seen = np.where(self.open, power, 0.0)
            highest = float(seen.max(initial=0.0))
            if len(found) == most or highest <= max(limit, _WEAK * float(power.max(initial=0))):
                break
            top = int((seen >= max(_ALIKE * highest, limit)).argmax())
            top += int(seen[top : top + 2 * _NEAR].argmax())
            if not self._is_real(top):
                self.open[max(top - _NEAR, 0) : top + _NEAR + 1] = False
                continue
            frequency, order = self._fundamental(top)
            line = Line(
                *self._sharpened(frequency, order, self._skirt(top, limit)),
                float(power[top]),
                self.spectrum.false_alarm(float(power[top])),
            )
            found.append(line)
            self.hide(line)
        return found

    def hide(self, line: Line) -> None:
        """Take a line and its harmonics out of what is looked at."""
        if not len(self.open):
            return
        first = float(self.spectrum.frequency[0])
        orders = np.arange(1, int(self.spectrum.frequency[-1] / line.frequency + 1.5))
        for order in orders:
            half = max(order * line.width, (_NEAR + 1) * self.step)
            low = int((order * line.frequency - half - first) / self.step)
            high = int((order * line.frequency + half - first) / self.step) + 1
            self.open[max(low, 0) : max(high + 1, 0)] = False

    def _at(self, frequency: float, tolerance: float) -> tuple[int, float]:
        """Place and power of the highest point near a frequency that is not hidden."""
        middle = (frequency - float(self.spectrum.frequency[0])) / self.step
        half = tolerance / self.step + 1
        low, high = max(int(np.floor(middle - half)), 0), int(np.ceil(middle + half)) + 1
        seen = np.where(self.open[low:high], self.spectrum.power[low:high], 0.0)
        if high <= 0 or not len(seen):
            return 0, 0.0
        return low + int(seen.argmax()), float(seen.max())

    def _peak(self, at: int) -> float:
        """The frequency of a local maximum, between bins: a parabola through the logarithms."""
        if not 0 < at < len(self.open) - 1:
            return float(self.spectrum.frequency[at])
        a, b, c = np.log(np.maximum(self.spectrum.power[at - 1 : at + 2], 1e-300))
        curve = a - 2 * b + c
        shift = 0.5 * (a - c) / curve if curve < 0 else 0.0
        return float(self.spectrum.frequency[at] + np.clip(shift, -0.5, 0.5) * self.step)

    def _is_real(self, at: int) -> bool:
        """Whether the events themselves have the line; bins fold those of high frequencies here."""
        spectrum = self.spectrum
        part = min(1.0 / spectrum.width, self.length)
        begins = np.arange(max(int(self.length / part), 1)) * part
        held = np.diff(np.searchsorted(self.starts, [*begins, begins[-1] + part]))
        begin, most = float(begins[int(held.argmax())]), int(held.max())
        # Of many events a stretch is enough; its lines are weaker and broader.
        stretch = min(1.0, _LOOKED_AT / max(most, 1))
        near = self._peak(at) + np.linspace(-1, 1, 9) / (stretch * part)
        exact = float(power_at(self.starts, begin, stretch * part, near).max())
        return exact > max(0.2 * float(spectrum.power[at]) * stretch, 3.0)

    def _fundamental(self, at: int) -> tuple[float, int]:
        """The lowest frequency whose harmonics hold this one, and which harmonic this one is."""
        frequency = self._peak(at)
        for k in range(_MOST_DIVISORS, 1, -1):
            if frequency / k >= self.spectrum.frequency[0] and self._is_comb(at, frequency / k, k):
                return frequency / k, k
        return frequency, 1

    def _is_comb(self, at: int, frequency: float, k: int) -> bool:
        """Whether the multiples of a frequency are lines, not only every k-th of them.

        More than half have to be: trains of 250 and of 100 Hz are none of 50 Hz, although some of
        its multiples are lines.
        """
        first = float(self.spectrum.frequency[0])
        orders = [n for n in range(1, 3 * k) if n % k]
        # Multiples that belong to another train say nothing.
        places = [round((n * frequency - first) / self.step) for n in orders]
        orders = [n for n, place in zip(orders, places, strict=True)
                  if 0 <= place < len(self.open) and self.open[place]]  # fmt: skip
        if not orders:
            return False
        powers = [self._at(n * frequency, 0.5 * self.step * n / k)[1] for n in orders]
        middle = float(np.quantile(powers, 0.4))
        # The probability that so many of them are as strong by chance: (n choose n/2) < 2^n.
        chance = min(1.0, 20 * self.spectrum.false_alarm(middle, 1))
        rare = chance ** (len(orders) / 2) < _SURE
        return rare and middle >= _LEAST_POWER * float(self.spectrum.power[at])

    def _skirt(self, at: int, limit: float) -> float:
        """Hz from a line to where it has fallen to what is not one: it is broad if it wanders."""
        low = self.spectrum.power < 0.25 * limit
        reach = max(int(0.02 * self.spectrum.frequency[at] / self.step), 2 * _NEAR)
        right = low[at : at + reach + 1]
        left = low[max(at - reach, 0) : at + 1][::-1]
        ends = [int(side.argmax()) if side.any() else len(side) for side in (right, left)]
        return max(ends) * self.step

    def _sharpened(self, frequency: float, order: int, skirt: float) -> tuple[float, float]:
        """A fundamental's frequency from its highest clear harmonic, and its width.

        The n-th harmonic tells it n times as precisely.
        """
        off = _OFF * self.step / order
        width = max(skirt / order, off)
        if skirt > 4 * _NEAR * self.step:  # a broad line has no sharper ones
            return frequency, width
        least = 0.02 * self._at(frequency * order, self.step)[1]
        n = order
        while 2 * n * frequency < self.spectrum.frequency[-1]:
            n *= 2
            place, power = self._at(n * frequency, n * off)
            around = self.spectrum.power[max(place - 1, 0) : place + 2]
            if power < max(least, 20.0) or power < around.max():  # not there, or another's
                break
            frequency = self._peak(place) / n
            off = _OFF * self.step / n
        return frequency, width
