"""Text in columns, for a terminal."""

from __future__ import annotations

MOST_ROWS = 40  # of a table, and
MOST_TABLES = 12  # of a study: more is for a file


def aligned(header: list[str], rows: list[list[str]]) -> str:
    """A table for a terminal, numbers to the right; a header may have two lines."""
    heads = [text.rpartition("\n")[::2] for text in header]
    top, names = ([head[i] for head in heads] for i in range(2))
    widths = [max(len(row[i]) for row in [top, names, *rows]) for i in range(len(header))]
    lines = [top] if any(top) else []
    return "\n".join(
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in [*lines, names, ["-" * width for width in widths], *rows]
    )


def first_rows(header: list[str], rows: list[list[str]]) -> str:
    """`aligned`, of no more rows than can be read, and a line that says how many there are."""
    text = aligned(header, rows[:MOST_ROWS])
    more = len(rows) - MOST_ROWS
    return text if more <= 0 else f"{text}\n... {more:,} more rows: summary.csv has all"
