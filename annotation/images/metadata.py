"""Remove metadata of cameras and editors from a picture's bytes: EXIF, XMP, comments.

The coded pixels are copied unchanged, so nothing is lost: only those parts of a container remain that affect
the pixels (tables, palettes, colour profiles), and anything after the end of the picture is removed.
"""

import re
from collections.abc import Callable


class Malformed(ValueError):
    """The container's parts are inconsistent; a decoder may still be able to read it."""


#: The end of entropy-coded JPEG data: 0xFF before anything but a stuffed zero, a restart or a fill byte.
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")

#: Application segments that affect how a JPEG looks, with their first bytes.
_JPEG_ALLOWED = {0xE0: b"JFIF\x00", 0xE2: b"ICC_PROFILE\x00", 0xEE: b"Adobe"}

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_ALLOWED = frozenset(
    b"IHDR PLTE IDAT IEND tRNS cHRM gAMA iCCP sBIT sRGB bKGD hIST pHYs sPLT cICP mDCV cLLI".split()
)

_WEBP_ALLOWED = frozenset((b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ICCP", b"ANIM", b"ANMF"))
_WEBP_EXIF_OR_XMP = 0x0C


def _jpeg(data: bytes) -> bytes:
    """ISO 10918-1, annex B: marker segments up to EOI.

    A missing EOI is not added: by it the decoder recognizes a truncated file.
    """
    out = bytearray(b"\xff\xd8")
    at = 2
    while data[at : at + 1]:
        if data[at] != 0xFF:
            raise Malformed(f"byte {at} is no JPEG marker")
        while data[at] == 0xFF:
            at += 1
        marker = data[at]
        at += 1
        if marker == 0xD9:
            return bytes(out + b"\xff\xd9")
        end = at + int.from_bytes(data[at : at + 2], "big")
        if end < at + 2 or end > len(data):
            raise Malformed(f"JPEG segment at byte {at} is cut short")
        segment = data[at:end]
        if marker == 0xDA:
            match = _MARKER.search(data, end)
            end = match.start() if match else len(data)
            out += b"\xff\xda" + data[at:end]
        elif not (0xE0 <= marker <= 0xEF or marker == 0xFE) or (
            marker in _JPEG_ALLOWED and segment[2:].startswith(_JPEG_ALLOWED[marker])
        ):
            out += bytes((0xFF, marker)) + segment
        at = end
    return bytes(out)


def _png(data: bytes) -> bytes:
    """PNG (third edition), section 5: length, type, data and checksum of each chunk."""
    out = bytearray(_PNG_SIGNATURE)
    at = len(_PNG_SIGNATURE)
    while True:
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        if end > len(data):
            raise Malformed(f"PNG chunk at byte {at} is cut short")
        if kind in _PNG_ALLOWED:
            out += data[at:end]
        at = end
        if kind == b"IEND":
            return bytes(out)


def _webp(data: bytes) -> bytes:
    """RFC 9649: chunks of a RIFF container, padded to even length."""
    out = bytearray()
    at, last = 12, 8 + int.from_bytes(data[4:8], "little")
    while at + 8 <= min(last, len(data)):
        kind = data[at : at + 4]
        end = at + 8 + int.from_bytes(data[at + 4 : at + 8], "little")
        if end > len(data):
            raise Malformed(f"WebP chunk at byte {at} is cut short")
        if kind == b"VP8X":
            out += data[at : at + 8] + bytes((data[at + 8] & ~_WEBP_EXIF_OR_XMP,)) + data[at + 9 : end]
        elif kind in _WEBP_ALLOWED:
            out += data[at:end]
        if kind in _WEBP_ALLOWED and end % 2:
            out += b"\x00"
        at = end + end % 2
    return b"RIFF" + (len(out) + 4).to_bytes(4, "little") + b"WEBP" + bytes(out)


def _gif(data: bytes) -> bytes:
    """GIF89a: the header, then blocks; comment and application extensions are dropped."""

    def table(flags: int) -> int:
        return 3 << (flags & 7) + 1 if flags & 0x80 else 0

    def past_blocks(at: int) -> int:
        while data[at]:
            at += data[at] + 1
        return at + 1

    at = 13 + table(data[10])
    out = bytearray(data[:at])
    while data[at] != 0x3B:
        if data[at] == 0x2C:
            end = past_blocks(at + 11 + table(data[at + 9]))
        elif data[at] == 0x21:
            end = past_blocks(at + 2)
        else:
            raise Malformed(f"byte {at} opens no GIF block")
        if data[at] == 0x2C or data[at + 1] not in (0xFE, 0xFF):
            out += data[at:end]
        at = end
    return bytes(out + b"\x3b")


_WALKS: dict[str, Callable[[bytes], bytes]] = {"JPEG": _jpeg, "PNG": _png, "WEBP": _webp, "GIF": _gif}


def without_metadata(data: bytes, kind: str) -> bytes:
    """`data`, a JPEG, PNG, WEBP or GIF file, without metadata. Raises Malformed."""
    try:
        return _WALKS[kind](data)
    except IndexError:
        raise Malformed(f"the {kind} file ends within one of its parts") from None
