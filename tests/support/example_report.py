"""An HTML report with every part, for tests of the page."""

import struct
import zlib

from jitterfly.report import Picture, Table
from jitterfly_papers.claims import OURS, WORDS, Claim, Finding, Judged
from jitterfly_papers.report.report_content import Report, Section

SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" width="640" height="400" viewBox="0 0 640 400">
<rect width="640" height="400" fill="#ffffff"/>
<path d="M40 360 L200 300 L360 180 L600 40" stroke="#0072B2" stroke-width="4" fill="none"/>
</svg>"""


def _chunk(kind, data):
    crc = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + crc


PNG = b"".join(
    [
        b"\x89PNG\r\n\x1a\n",
        _chunk(b"IHDR", struct.pack(">IIBBBBB", 1200, 300, 8, 0, 0, 0, 0)),
        _chunk(b"IDAT", zlib.compress(bytes(1201 * 300))),
        _chunk(b"IEND", b""),
    ]
)

TABLE = Table(
    "Numbers of the figure",
    ("ranks", "realiza-\ntions", *(f"column {i}" for i in range(14))),
    tuple((f"2^{k}", "100,000", *(["123.4 ± 0.5"] * 14)) for k in range(2, 19)),
    ("Every mean has its 95 % interval.",),
)


def _judged(name, source, text, findings):
    return Judged(name, Claim(source, text, (), (), check=lambda results: findings), findings)


STEEP = _judged(
    "M4",
    "MS12 Fig. 12",
    "T_comm / D = 1e-2: far better for 2^7 ... 2^14 & <steep> above",
    [
        Finding(
            'caption: P = 1 ms, "D" = 10 us',
            '"far better"',
            True,
            "gain from 3.1 [3, 3.2] at 2^7",
            "above 1",
            WORDS,
        ),
        Finding(
            'caption: P = 1 ms, "D" = 10 us',
            '"rises <steeply>"',
            False,
            "1.2 [1.1, 1.3] times",
            "above 4",
            WORDS,
            "our reading",
        ),
        Finding(
            "text: P = 10 ms, D = 100 us",
            '"rises <steeply>"',
            None,
            "4.1 [3.1, 5.2] times",
            "above 4",
            OURS,
            "sampling",
        ),
    ],
)

REPORT = Report(
    "Two papers & <their> figures, run again",
    (
        ("version", "0.2.0"),
        ("seed", "7"),
        ("date", "2024-05-06 07:08 UTC"),
        ("backend", "cpu, 2 threads"),
        ("sizes", "quick"),
        ("total time", "6 min 10 s"),
    ),
    (
        Section(
            "ms12_fig12",
            "MS12 Fig. 12: allreduce under noise",
            "Matsumoto & Suda 2012, Fig. 12",
            (STEEP,),
            (Picture(SVG, "image/svg+xml", "Slowdown against ranks. Bands.", "Bands & bars"),),
            (TABLE,),
            (("cells", "34"), ("targets met", "30 of 34 cells")),
            ("The best T is chosen by the samples.",),
            "jitterfly reproduce --only ms12_fig12",
        ),
        Section(
            "ms12_maps",
            "MS12 Figs. 8-11: maps",
            claims=(
                _judged(
                    "M3",
                    "MS12 Fig. 8-11",
                    "gain large for T_comm < D/10",
                    [Finding("", "gain large", True, "3 [2.9, 3.1]", "above 1", WORDS)],
                ),
            ),
            pictures=(Picture(PNG, "image/png", 'A "map" of the gain', width=800.0),),
        ),
        Section("cs14_fig8", "CS14 Fig. 8: no picture, no claims"),
    ),
    Section(
        "runs30",
        "What a mean of 30 runs is worth",
        pictures=(Picture(PNG, "image/png", "Spread of 30-run means", width=800.0),),
        tables=(Table("Thirty runs", ("cell", "30 runs"), (("2^7", "1.1 to 9.2"),)),),
    ),
    ("CS14 Fig. 9: <overhead> by cycle",),
)
