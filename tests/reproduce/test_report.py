"""HTML report without a browser: structure, escaping, self-contained."""

import json
import re
from dataclasses import replace

import pytest
from support.example_report import PNG, REPORT, STEEP, SVG
from support.html_reader import Reader

from jitterfly.report import Html, Picture, tag, text
from jitterfly_papers.report.claims_table import (
    TITLE,
    markdown,
    parts_as_json,
    to_json,
    update,
    verdicts,
)
from jitterfly_papers.report.html_page import page
from jitterfly_papers.report.report_content import Report

LOADING = ("src", "href", "srcset", "data", "action", "poster", "background")


@pytest.fixture(scope="module")
def source():
    return page(REPORT)


@pytest.fixture(scope="module")
def reader(source):
    return Reader(source)


def test_is_one_document(source, reader):
    assert source.startswith("<!doctype html>\n<html lang=")
    names = [name for name, _ in reader.elements]
    for once in ("html", "head", "body", "main", "title", "h1", "style"):
        assert names.count(once) == 1


def test_needs_nothing_from_elsewhere(source, reader):
    for _, attributes in reader.elements:
        for name in LOADING:
            if name in attributes:
                assert attributes[name].startswith(("data:", "#"))
    assert not reader.all("script")
    assert not re.search(r"\son\w+=", re.sub(r'"[^"]*"', '""', source))
    (style,) = re.findall(r"<style>(.*?)</style>", source, re.DOTALL)
    assert "url(" not in style
    assert "@import" not in style
    policies = [m for m in reader.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    assert policies[0]["content"].startswith("default-src 'none'")


def test_links_lead_somewhere(reader):
    ids = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for attributes in reader.all("a")]
    assert links
    assert all(link[1:] in ids for link in links)


def test_text_is_escaped(source, reader):
    assert "<their>" not in source
    assert "<steep>" not in source
    assert "Two papers & <their> figures, run again" in reader.said
    assert "far better for 27 … 214 & <steep> above" in reader.said
    assert 'caption: P = 1 ms, "D" = 10 us' in reader.said
    assert '"rises <steeply>": 1.2 [1.1, 1.3] times. Limit, the paper' in reader.said
    assert [image["alt"] for image in reader.all("img")][1] == 'A "map" of the gain'


def test_every_picture_is_inside_and_described(reader):
    images = reader.all("img")
    assert len(images) == 3
    assert all(image["alt"] for image in images)
    assert images[0]["src"].startswith("data:image/svg+xml;base64,")
    assert images[1]["src"].startswith("data:image/png;base64,")


def test_overview_says_what_became_of_each_claim(reader):
    assert "4 parts of 2 claims checked: 2 reproduced, 1 differs, 1 cannot be told." in reader.said
    assert "Overview" in reader.said
    for words in ("M4", "MS12 Fig. 12", "✗", "differs", "M3", "✓", "reproduced"):
        assert words in reader.said


def test_a_partial_report_says_so(reader):
    assert "A partial report: 3 of 4 studies are complete." in reader.said
    assert "CS14 Fig. 9: <overhead> by cycle" in reader.said
    whole = page(replace(REPORT, pending=()))
    assert "partial report" not in whole


def test_a_report_of_nothing_is_a_page():
    reader = Reader(page(Report("Nothing yet", (), (), pending=("a study",))))
    assert "0 of 1 studies" in reader.said
    assert not reader.all("table")


def test_every_part_is_in_one_table(reader):
    assert TITLE in reader.said
    assert "All 4 parts of the claims" in reader.said
    rows = [attributes for attributes in reader.all("th") if attributes.get("scope") == "row"]
    assert len(rows) == 2 + 4  # of the overview, and of this table
    table = reader.said.partition("All 4 parts of the claims")[2]
    head = [attributes for attributes in reader.all("th") if attributes.get("scope") == "rowgroup"]
    assert [attributes["colspan"] for attributes in head] == ["7", "7"]  # a row for each study
    command = "jitterfly reproduce --only ms12_fig12"
    assert table.index(command) < table.index("far better")


def test_parts_as_data_and_as_a_page():
    kept = json.loads(to_json(REPORT))
    assert list(kept["sections"]) == ["ms12_fig12", "ms12_maps"]
    assert verdicts(kept) == REPORT.verdicts
    page = markdown(kept)
    assert page.startswith("2 of 4 parts reproduced, 1 differs, 1 cannot tell.")
    table = [line for line in page.splitlines() if line.startswith("| ")]
    assert len(table) == 4 + 2 * len(kept["sections"])
    assert {line.replace("\\|", "").count("|") for line in table} == {7}
    steep = next(line for line in table if "*differs*" in line)
    assert "1.2 \\[1.1, 1.3\\] times" in steep
    assert "above 4 (the paper's words)" in steep
    assert steep.endswith("| our reading |")


def test_a_study_that_was_run_again_takes_its_place():
    old, new = parts_as_json(REPORT), parts_as_json(replace(REPORT, sections=REPORT.sections[:1]))
    new["sections"]["ms12_fig12"]["run"]["date"] = "later"
    both = update(old, new)
    assert both["sections"]["ms12_fig12"]["run"]["date"] == "later"
    assert both["sections"]["ms12_maps"] == old["sections"]["ms12_maps"]
    with pytest.raises(ValueError, match=r"^parts must have format 1, got 2$"):
        update(old, {"format": 2, "sections": {}})


def test_verdicts_are_counted():
    assert REPORT.verdicts == {"reproduced": 2, "differs": 1, "cannot tell": 1}
    assert STEEP.counts == {"reproduced": 1, "differs": 1, "cannot tell": 1}


def test_other_formats_of_pictures_are_refused():
    with pytest.raises(ValueError, match="media must be one of"):
        Picture(SVG, "image/gif", "")


def test_html_escapes_what_is_not_html():
    assert tag("a", "x & y", href='"#"', class_="c", id=None) == (
        '<a href="&quot;#&quot;" class="c">x &amp; y</a>'
    )
    assert tag("p", tag("b", "1 < 2")) == "<p><b>1 &lt; 2</b></p>"
    assert tag("meta", http_equiv="x") == '<meta http-equiv="x">'
    assert text("2^14 and T_comm") == "2<sup>14</sup> and T<sub>comm</sub>"
    assert text(Html("<i>")) == "<i>"
    assert text("x_T_comm 2^k") == "x_T_comm 2^k"
    assert text("1 -> 2 [-inf, inf], infinite") == "1 → 2 [-∞, ∞], infinite"


def test_the_example_pictures_are_pictures():
    assert PNG.startswith(b"\x89PNG")
    assert SVG.startswith(b"<svg")
