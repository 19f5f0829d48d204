"""The form of what was found."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One part of a claim, for the setting `where` ("" if the study has only one).

    `holds` is None where the samples or the wording do not decide it.
    """

    where: str
    holds: bool | None
    text: str

    @property
    def verdict(self) -> str:
        """In a word or two."""
        return {True: "holds", False: "DOES NOT HOLD", None: "cannot tell"}[self.holds]
