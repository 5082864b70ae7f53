"""JSON values as XML and back."""

import json
import random

import pytest

from nodrop.descriptors.xml_form import from_xml, to_xml

NESTED = {
    "plain": "a < b & 'c' \"d\"",
    "0": {"2M": None, "xmlish": True, "entry": 1, "": []},
    "list": [1, 2.5, "3", [], {}, [[False]]],
    "blank": "  two  \n lines\t",
    "binary": "\x00\x1b[31m\ud800\r\n￿",
    "ключ": 2**63,
}


def test_what_is_written_reads_back_to_the_same_value() -> None:
    assert from_xml(to_xml(NESTED, "host")) == ("host", NESTED)


def test_random_values_read_back() -> None:
    draw = random.Random(7)

    def value(depth: int) -> object:
        kind = draw.randrange(8 if depth < 4 else 6)
        text = "".join(
            chr(draw.choice((0, 9, 13, 32, 38, 60, 93, 0x85, 0xFFFE, 0x1F600))) for _ in range(draw.randrange(5))
        )
        if kind < 6:
            return (None, True, draw.randrange(-9, 9), draw.random(), text, "")[kind]
        if kind == 6:
            return [value(depth + 1) for _ in range(draw.randrange(4))]
        return {f"{text}{each}": value(depth + 1) for each in range(draw.randrange(4))}

    for _ in range(500):
        drawn = value(0)
        assert from_xml(to_xml(drawn, "x"))[1] == drawn  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no well-formed XML"),
        ("<a>", "no well-formed XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "document type"),
        ("<a type='number'>x</a>", "of type number with 'x'"),
        ("<a type='number'>true</a>", "of type number"),
        ("<a type='boolean'>1</a>", "of type boolean"),
        ("<a><b/></a>", "of type 'text'"),
        ("<a type='odd'/>", "of type 'odd'"),
        ("<a type='map'><b/><b/></a>", "'b' twice"),
        ("<a type='list'>" * 100 + "</a>" * 100, "nested deeper"),
    ],
)
def test_what_is_not_of_this_form_is_refused_with_a_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_xml(text)


def test_xml_looks_as_documented() -> None:
    assert to_xml({"a": 1, "2M": "x", "l": [True, None], "e": {}}, "host").splitlines()[1:] == [
        '<host type="map">',
        '  <a type="number">1</a>',
        '  <entry key="2M">x</entry>',
        '  <l type="list">',
        '    <item type="boolean">true</item>',
        '    <item type="null">null</item>',
        "  </l>",
        '  <e type="map"/>',
        "</host>",
    ]
    assert json.loads(json.dumps(from_xml(to_xml(NESTED, "r"))[1])) == NESTED
