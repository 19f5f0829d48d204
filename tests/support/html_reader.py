"""A reader of HTML for tests: elements, words, and tags that do not match."""

from html.parser import HTMLParser

VOID = {"img", "link", "meta"}


class Reader(HTMLParser):
    """Elements with their attributes, and the words; complains of tags that do not match."""

    def __init__(self, source):
        super().__init__()
        self.open, self.elements, self.words = [], [], []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    def all(self, name):
        return [attributes for tag, attributes in self.elements if tag == name]

    @property
    def said(self):
        return " ".join("".join(self.words).split())
