"""Digest, in a picture's file, of the numbers and words that it shows.

With it a test tells whether a picture in the pages is what the code beside it draws now, although
other versions of matplotlib or of fonts draw other pixels.
"""

import contextlib
import hashlib
import re

import numpy as np
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.spines import Spine

DIGEST = "Digest of what is drawn"  # a text in a PNG file


@contextlib.contextmanager
def marked_pictures():
    """Let every PNG file that matplotlib writes hold a digest of what its figure shows."""
    save = Figure.savefig

    def marked(self, target, *arguments, **options):
        kind = options.get("format") or str(target).rpartition(".")[2]
        if kind == "png":
            digest = hashlib.sha256("\n".join(drawn(self)).encode()).hexdigest()[:16]
            options["metadata"] = {**(options.get("metadata") or {}), DIGEST: digest}
        return save(self, target, *arguments, **options)

    Figure.savefig = marked
    try:
        yield
    finally:
        Figure.savefig = save


def drawn(figure):
    """The numbers and words that a figure shows, a line for each artist.

    Numbers have five digits. Where words stand, and how all looks, is left out: that depends on
    fonts and on the version of matplotlib. So is how long a computation took.
    """
    parts = [text.get_text() for text in figure.texts]
    for axes in figure.axes:
        titles = [axes.get_title(place) for place in ("left", "center", "right")]
        parts.append(repr([*titles, axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale()]))
        for artist in axes.get_children():
            if isinstance(artist, (Axis, Spine)) or artist is axes.patch:
                continue
            parts += [type(artist).__name__, *artist_data(artist)]
    return [re.sub(r"\bin [\d.]+ m?s\b", "", " ".join(part.split())) for part in parts]


def artist_data(artist):
    """Yield the numbers and words of an artist, and of those that it is made of."""
    arrays = []
    if hasattr(artist, "get_text"):
        yield artist.get_text()
    elif hasattr(artist, "get_xydata"):
        arrays = [artist.get_xydata()]
    elif hasattr(artist, "get_offsets"):
        arrays = [artist.get_offsets(), *(path.vertices for path in artist.get_paths())]
        arrays += [artist.get_array()] if artist.get_array() is not None else []
    elif hasattr(artist, "get_patch_transform"):
        arrays = [artist.get_patch_transform().transform(artist.get_path().vertices)]
    elif hasattr(artist, "get_array"):
        arrays = [artist.get_array()]
    else:  # such as a legend
        for text in getattr(artist, "texts", ()):
            yield text.get_text()
    for array in arrays:
        numbers = np.ma.filled(np.ma.asarray(array, float), np.nan).ravel()
        yield " ".join(f"{number:.5g}" for number in numbers + 0.0)
