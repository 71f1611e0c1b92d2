"""WebP files made by hand: lossless images of two colours, and animations of them."""

import struct


class _Bits:
    def __init__(self):
        self.value = self.count = 0

    def put(self, value, count):
        self.value |= int(value) << self.count
        self.count += count

    def bytes(self):
        return self.value.to_bytes((self.count + 7) // 8, "little")


def lossless(bits, dark, light, has_alpha):
    """The payload of an image: `light` where `bits` is set, else `dark`; colours are of red, green, blue and alpha."""
    height, width = bits.shape
    out = _Bits()
    out.put(0x2F, 8)
    out.put(width - 1, 14)
    out.put(height - 1, 14)
    out.put(has_alpha, 1)
    # Version; no transforms, cache of colours, or several groups of codes.
    out.put(0, 3 + 1 + 1 + 1)
    is_coded = []
    for channel in (1, 0, 2, 3):
        symbols = sorted({dark[channel], light[channel]})
        out.put(1, 1)
        out.put(len(symbols) - 1, 1)
        out.put(1, 1)
        for symbol in symbols:
            out.put(symbol, 8)
        is_coded.append((channel, symbols))
    # The code of distances, which are not there.
    out.put(1, 1)
    out.put(0, 1)
    out.put(0, 1)
    out.put(0, 1)
    for bit in bits.reshape(-1):
        colour = light if bit else dark
        for channel, symbols in is_coded:
            if len(symbols) == 2:
                out.put(symbols.index(colour[channel]), 1)
    return out.bytes()


def chunk(name, payload):
    return name + struct.pack("<I", len(payload)) + payload + b"\0" * (len(payload) % 2)


def riff(*chunks):
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def still(bits, dark, light, has_alpha=False):
    return riff(chunk(b"VP8L", lossless(bits, dark, light, has_alpha)))


def _three(value):
    return struct.pack("<I", value)[:3]


def animation(height, width, frames, has_alpha=True):
    """`frames` are of a payload, its y, x, height and width, and flags: 2 to overwrite, 1 to clear it afterwards."""
    flags = 0x02 | (0x10 if has_alpha else 0)
    parts = [chunk(b"VP8X", bytes([flags, 0, 0, 0]) + _three(width - 1) + _three(height - 1)), chunk(b"ANIM", b"\0" * 6)]
    for payload, y, x, h, w, how in frames:
        parts.append(chunk(b"ANMF", _three(x // 2) + _three(y // 2) + _three(w - 1) + _three(h - 1) + _three(100) + bytes([how]) + chunk(b"VP8L", payload)))
    return riff(*parts)
