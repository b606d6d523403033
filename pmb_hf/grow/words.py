"""The words that distractors are made of, and when two words count as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_WORD = re.compile(r"[^\W_]+")
_STEM = 5

_FUNCTION_WORDS = "a an and at by for from has in is its of on the this to was with"
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Words that say nothing of a subject. Only these may a live distractor share with a query."""

THEMES: tuple[tuple[str, str, str], ...] = (
    (
        "kiln glaze crucible slip wheel-head biscuit saggar porcelain stoneware majolica",
        "unglazed salt-fired thrown crackled",
        "shards firings cones",
    ),
    (
        "comet eyepiece nebula meridian sextant aphelion quasar eclipse parallax occultation",
        "sidereal polar waning binary",
        "arcminutes parsecs transits",
    ),
    (
        "sloop halyard bowsprit jib capstan rudder bilge keelson mizzen spinnaker",
        "seaworthy leeward tarred becalmed",
        "fathoms knots leagues",
    ),
    (
        "basalt gneiss moraine schist geode fault-line scree obsidian quartzite feldspar",
        "igneous folded glacial porous",
        "strata outcrops boreholes",
    ),
    (
        "flyleaf quire vellum colophon endpaper headband marbling gilding folio clasp",
        "gilt uncut foxed calfskin",
        "signatures plates bindings",
    ),
    (
        "escapement pendulum mainspring verge fusee hairspring pinion arbor pallet regulator",
        "jewelled brass eight-day striking",
        "oscillations ratchets turns",
    ),
    (
        "loom shuttle heddle weft bobbin selvedge treadle warp damask twill",
        "handspun twined carded indigo",
        "skeins picks yards",
    ),
    (
        "fencing-foil épée parry riposte lunge piste sabre lamé flèche octave",
        "left-guarded springy pommelled curved",
        "bouts touches salutes",
    ),
    (
        "glacier crampon piton crevasse bivouac carabiner belay couloir serac arete",
        "roped icebound windswept steep",
        "pitches ascents bivouacs",
    ),
    (
        "rennet whey curd cheddar caerphilly maturing-loft brine annatto muslin truckle",
        "crumbly washed-rind veined ripened",
        "wheels batches churns",
    ),
)
"""Subjects as (nouns, adjectives, units), words of a blank between. A corpus that speaks of one
leaves out the words that it uses itself."""

_ONSETS = ("b", "br", "d", "dr", "f", "g", "gl", "k", "kv", "l", "m", "n", "pl", "qu", "r", "st")
_VOWELS = ("a", "e", "i", "o", "u", "ae", "ei", "ou")
_CODAS = ("l", "m", "n", "r", "sk", "th", "v", "x")


def stems(text: str) -> Iterator[str]:
    """The content words of ``text``, folded, and cut to five characters.

    Cutting is crude on purpose: it calls more words alike than are.
    """
    for word in _WORD.findall(text.casefold()):
        if word not in FUNCTION_WORDS:
            yield word[:_STEM]


def stem_set(texts: Iterable[str]) -> frozenset[str]:
    """The content words of all texts, as :func:`stems` cuts them."""
    return frozenset(stem for text in texts for stem in stems(text))


def without(words: str, taken: frozenset[str]) -> list[str]:
    """The words of a theme that share no stem with ``taken``."""
    return [word for word in words.split() if taken.isdisjoint(stems(word))]


def invented_name(number: int) -> str:
    """A name that no language has on purpose: 131,072 of them, then with a further syllable.

    >>> invented_name(0), invented_name(70_000)
    ('Babal', 'Boudisk')
    """
    letters = []
    for _ in range(2):
        number, onset = divmod(number, len(_ONSETS))
        number, vowel = divmod(number, len(_VOWELS))
        letters += [_ONSETS[onset], _VOWELS[vowel]]
    rest, coda = divmod(number, len(_CODAS))
    if rest:
        return "".join(letters).capitalize() + invented_name(rest).lower()
    return ("".join(letters) + _CODAS[coda]).capitalize()
