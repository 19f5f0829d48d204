"""Sphinx extension: formulas as MathML, which browsers draw by themselves.

Sphinx's own way fetches MathJax from another host whenever a page is opened: without network, as on
many clusters, formulas would stay LaTeX. docutils makes the MathML, and a formula that it does not
know is an error of the build.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.writers.html5 import HTML5Translator


def _mathml(translator: HTML5Translator, node: nodes.Element, block: bool) -> str:
    text = node.astext()
    try:
        return str(latex2mathml.tex2mathml(text, as_block=block))
    except ValueError as problem:
        raise ExtensionError(f"{translator.builder.current_docname}: {text}: {problem}") from None


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(_mathml(translator, node, block=False))
    raise nodes.SkipNode


def _block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{_mathml(translator, node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
