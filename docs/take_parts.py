"""Script that takes parts of claims from reproductions into docs/data/parts.json, for a page.

    python docs/take_parts.py results/reproduce_quick [DIR ...]

Each directory has the `parts.json` that `jitterfly reproduce` wrote there, which runs the studies
that are installed (`pip install --no-deps .` after a change in `sweeps/`). A study takes the place
of the same one that is kept; the others stay.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from jitterfly_papers.claims import CLAIMS
from jitterfly_papers.report.claims_table import PARTS, update

KEPT = Path(__file__).parent / "data" / PARTS


def main(folders: list[str]) -> None:
    """Write the kept file anew, in the order of the claims."""
    kept = {"format": 1, "sections": {}}
    if KEPT.exists():
        kept = json.loads(KEPT.read_text(encoding="utf-8"))
    for folder in folders:
        kept = update(kept, json.loads((Path(folder) / PARTS).read_text(encoding="utf-8")))
    order = list(CLAIMS)
    sections = sorted(
        kept["sections"].items(),
        key=lambda item: [order.index(claim["name"]) for claim in item[1]["claims"]],
    )
    KEPT.parent.mkdir(exist_ok=True)
    text = json.dumps({**kept, "sections": dict(sections)}, indent=1, ensure_ascii=False)
    KEPT.write_text(text + "\n", encoding="utf-8")
    print(f"{len(sections)} studies in {KEPT}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
