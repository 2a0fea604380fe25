"""The tokenisation of the COCO evaluation, for all measures of its family.

The COCO evaluation cuts captions with Stanford's tokenizer of the Penn Treebank (version 3.4.1, with
`-preserveLines -lowerCase`) and drops a list of punctuation marks. This module gives the same words without
Java, for all captions of Flickr8k and of Flickr30k's validation images and for the hard cases of its tests.

Conventions.
- Texts are composed (NFC) and put in lower case first, so that neither the form of an accent nor a capital
  changes a figure. Stanford's tokenizer does not; it keeps "AT&T" whole and cuts "at&t".
- Of all tokens that can begin at a place the longest is taken, and what must follow it counts as part of its
  length. Clitics are cut off ("man 's", "do n't", "can not"); hyphens, underscores and slashes bind
  ("t-shirt", "and/or"); abbreviations keep their full stop ("st.", "u.s.").
- Brackets become "-lrb-" and its like and stay, since the COCO evaluation's list has them in capitals; so do
  runs such as "!!". Signs outside the tokenizer's alphabet, emoji among them, are dropped.
- A space separates, and other captions do not matter. Stanford's tokenizer joins telephone numbers and tags
  over spaces, and keeps the stop of a last "no." where the next caption begins with a digit.

Source: https://github.com/tylin/coco-caption (ptbtokenizer.py), and the tokenizer's own answers.
"""

import re
import unicodedata
from functools import lru_cache

#: Words that are split in two.
_IN_TWO = {
    "cannot": ("can", "not"),
    "gimme": ("gim", "me"),
    "gonna": ("gon", "na"),
    "gotta": ("got", "ta"),
    "lemme": ("lem", "me"),
    "wanna": ("wan", "na"),
}
#: Words that keep their full stop, and words that keep it before a number.
_ABBREVIATIONS = (
    "adj adm adv ala al alex apr ariz assn assoc asst atty aug ave bhd bldg blvd brig bros calif capt "
    "cf cie cmdr col colo comdr conn co corp cos cpl ct dak dec dept det dr drs elec ens esq est etc "
    "ext feb fla fri ft ga gen gov govs hon inc ind insp intl invt jan jos jr jul jun kan kans ky lieut "
    "ltd lt maj mar md messrs mfg mich minn mlle mme mon mont mo mr mrs ms msgr mt mtg natl neb nev nov "
    "oct okla penn pfc ph plc ppte ppty pres prof profs pte ptes pty ptys pvt rd rep reps rev rt sen "
    "sens sep sept seq sfc sgt spc sq sr ste st supt sys tel tenn thurs thu tues tue univ va vs vt wed "
    "wisc wis wm wyo "
).split()
_BEFORE_NUMBERS = "art ca figs fig nos no op pp prop".split()
_FILE_TYPES = (
    "bat bmp cgi class cpp c dll docx doc exe gif gz html htm h jar java jpeg jpg mov mp3 pdf php pl "
    "png ppt ps py sql tar txt wav xml x zip "
).split()

#: Tokens that the COCO evaluation drops: its punctuation marks, and what the tokeniser writes as one of them.
_PUNCTUATION = frozenset(
    "' '' ` `` . .. ... .... ..... ? ! , : ; - -- --- ---- \" "
    "\u2013 \u2014 \u2015 \u2026 \u2018 \u2019 \u201b \u201c \u201d \u00ab \u00bb \u2039 \u203a".split()
)
#: Tokens that are written differently.
_WRITTEN = dict(
    zip(
        "\u00a2 \u00a3 \u00a4 \u20ac \u00bc \u00bd \u00be \u2153 \u2154 [ ] { } &amp; &lt; &gt;".split(),
        "cents # $ $ 1/4 1/2 3/4 1/3 2/3 -lsb- -rsb- -lcb- -rcb- & < >".split(),
        strict=True,
    )
)
#: Round brackets, which are written like this inside a token too.
_ROUND = str.maketrans({"(": "-lrb-", ")": "-rrb-"})
#: HTML entities, and the soft hyphen, as they are read.
_ENTITIES = {
    "&apos;": "'",
    "&quot;": '"',
    "&nbsp;": " ",
    "&ndash;": "\u2013",
    "&mdash;": "\u2014",
    "\u00ad": "",
}

_QUOTE = "['\u2019]"
_LETTER = r"[^\W\d_\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u218b\U00010000-\U0010ffff]"
_SIGN = (
    r"[!-/:-@\[-`{-~\u00a1-\u00bf\u00d7\u00f7\u2013-\u2023\u2026\u2030-\u203b\u203e-\u2042\u2044\u20a4"
    r"\u20ac\u2100-\u214f\u2153-\u215e\u2190-\u2bff\u3001\u3002\u3012\u30fb\uff01-\uff65\uffe0\uffe1\uffe5\uffe6]"
)
_EITHER = rf"(?:{_LETTER}|\d)"
_WORD = rf"{_LETTER}{_EITHER}*"
_WORDS = rf"{_WORD}(?:[.!?]{_WORD})*"
_PART = rf"(?:[dol]{_QUOTE}[a-z0-9])?{_EITHER}+"
_JOINED = rf"{_PART}(?:[-_\u2010\u2011]{_PART})*"
_HYPHENED = r"[a-z0-9][a-z0-9.,]*(?:-(?:[a-z](?:\.[a-z])+\.|[a-z0-9]+))+"
_SLASHED = r"[a-z0-9]+(?:-[a-z]+){0,2}(?:\\?/[a-z0-9]+(?:-[a-z]+){0,2}){1,2}"
_CLITIC = rf"{_QUOTE}(?:[msd]|re|ve|ll)"
_ADDRESS_END = r"[^\s\"<>|(){}]+[^\s\"<>|.!?(){},-]"
_SITE = r"(?:[^\s\"`'<>|.!?(){},-_$]+\.)+(?:com|net|org|edu)"

#: Tokens, and what must follow each of them.
_RULES = (
    (_WORD, rf"{_CLITIC}[^a-z]"),
    (r"[a-z]*[a-mo-z]", rf"n{_QUOTE}t"),
    (rf"n{_QUOTE}t", ""),
    (_CLITIC, r"[^a-z]"),
    (r"'t", r"is|was"),
    (
        rf"{_QUOTE}(?:n{_QUOTE}|em|till?|cause|[2-9]0s)|(?:[dlj]|ol|dunkin|somethin){_QUOTE}",
        "",
    ),
    (rf"{_QUOTE}(?:n|\d\d)", r"\s"),
    (rf"y{_QUOTE}", _LETTER),
    (rf"n{_QUOTE}{_LETTER}{{2,}}|[a-z]+[aeiouy]{_QUOTE}[aeiou]{_LETTER}*|e'er", ""),
    (rf"(?:ev{_QUOTE}ry|li{_QUOTE}l|cap{_QUOTE}n|nat{_QUOTE}l|[dq]u{_QUOTE}il|c{_QUOTE}(?:est|mon))", ""),
    (rf"(?:s{_QUOTE}mores|nor{_QUOTE}easter)", ""),
    (_JOINED, ""),
    (_HYPHENED, ""),
    (_SLASHED, ""),
    (r"\d{1,2}[-/]\d{1,2}[-/]\d{2,4}|(?:\d{1,4}-)?\d{1,4}\\?/\d{1,4}", ""),
    (_WORDS, ""),
    (rf"(?:{_WORDS}|{_JOINED}|{_HYPHENED})\.", r"[,;:]"),
    (rf"(?:[a-z](?:\.[a-z])*|ph\.d|{'|'.join(_ABBREVIATIONS)})\.", ""),
    (rf"(?:{'|'.join(_BEFORE_NUMBERS)})\.", r"\s?\d"),
    (rf"{_EITHER}+(?:\.{_EITHER}+)*\.(?:{'|'.join(_FILE_TYPES)})", r"[\s.!?,]"),
    (r"[-+]?(?:\d*(?:[.:,]\d+)+|\d+)", ""),
    (rf"https?://{_ADDRESS_END}", ""),
    (rf"(?:www\.(?:[^\s\"<>|.!?(){{}},]+\.)+[a-z]{{2,4}}|{_SITE})(?:/{_ADDRESS_END})?", ""),
    (r"<?[a-z0-9][^\s\"<>|(){}]*@(?:[^\s\"<>|().{}]+\.)*[^\s\"<>|().{}]+>?", ""),
    (rf"@[a-z_][a-z_0-9]*|#{_LETTER}+", ""),
    (r"[<>]?[:;=][-o*']?[()dp\\{@|\[\]]", r"[^a-z0-9]"),
    (r"[-^x=~<>']_[-^x=~<>']|\([-^x=~<>'][_.]?[-^x=~<>']\)", ""),
    (r"</?[a-z][a-z0-9:._-]*/?>|<[!?][a-z-][^>\s]*>", ""),
    (r"&(?:amp|lt|gt);|&#\d+;|c\+\+|[cf]#|s&p-500", ""),
    (r"''|``|\.{3,5}|-+|[?!]+|_+|\*+|@+|#+|<<|>>|[\u00b2\u00b3\u00b9\u2070\u2074-\u207e\u2080-\u208e]+", ""),
    (_SIGN, ""),
)
_CUT_OFF = re.compile(rf"{_CLITIC}|n{_QUOTE}t")
_TOKENS = tuple(re.compile(f"({token})(?:{follows})") for token, follows in _RULES)


def ptb_words(text: str) -> list[str]:
    """The words of a caption as the COCO evaluation counts them.

    >>> ptb_words("The dog's T-shirt isn't red, it's blue (and new).")
    ['the', 'dog', "'s", 't-shirt', 'is', "n't", 'red', 'it', "'s", 'blue', '-lrb-', 'and', 'new', '-rrb-']
    """
    text = unicodedata.normalize("NFC", text).lower()
    for entity, sign in _ENTITIES.items():
        text = text.replace(entity, sign)
    chunks = text.split()
    words: list[str] = []
    for chunk, following in zip(chunks, [*chunks[1:], ""], strict=False):
        words += _cut(chunk, following[:1].isdigit())
    return words


@lru_cache(maxsize=65536)
def _cut(chunk: str, before_digit: bool) -> tuple[str, ...]:
    """Return the words of a chunk without white space; `before_digit`: a digit follows the space after it."""
    text = chunk + (" 0" if before_digit else " ")
    words: list[str] = []
    start = 0
    while start < len(chunk):
        matches = filter(None, (token.match(text, start) for token in _TOKENS))
        longest = max(matches, key=re.Match.end, default=None)
        if longest is None:
            start += 1
            continue
        token, start = longest[1], longest.end(1)
        if token in _IN_TWO and start == longest.end():
            words += _IN_TWO[token]
        elif token not in _PUNCTUATION:
            if _CUT_OFF.fullmatch(token):
                token = token.replace("\u2019", "'")
            words.append(_WRITTEN.get(token, token).translate(_ROUND))
    return tuple(words)
