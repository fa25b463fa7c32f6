"""How much a JSON text holds, found before anything is built of it."""

from __future__ import annotations

from numba import njit

from multitudes.kernels.arrays import Bytes

QUOTE, BACKSLASH, COMMA, LETTER_U = 0x22, 0x5C, 0x2C, 0x75
OPENS = (0x5B, 0x7B)  # [ {
CLOSES = (0x5D, 0x7D)  # ] }
DIGIT_D, LETTER_C, LETTER_F = 0x64, 0x63, 0x66


@njit(nogil=True, cache=True)
def json_shape(
    data: Bytes,  # IN: UTF-8, which may be JSON or not
    most_values: int,  # IN: where to stop
    most_characters: int,  # IN: where to stop
    most_depth: int,  # IN: where to stop
) -> tuple[int, int, int]:
    """Count values, characters inside strings, and levels, until one of them is too many.

    A list or an object counts as a value, and so does each comma: a text of n values in one list
    has n. An escape is one character, and so are both halves of a pair. Of what is no JSON it
    returns numbers that mean little, but never reads beyond the end.
    """
    values, characters, depth, deepest = 0, 0, 0, 0
    inside = False
    at = 0
    while at < data.size:
        byte = data[at]
        at += 1
        if inside:
            if byte == QUOTE:
                inside = False
            elif byte == BACKSLASH and at < data.size:
                if data[at] == LETTER_U and at + 2 < data.size:
                    first, second = data[at + 1] | 0x20, data[at + 2] | 0x20
                    if not (first == DIGIT_D and LETTER_C <= second <= LETTER_F):
                        characters += 1
                else:
                    characters += 1
                at += 5 if data[at] == LETTER_U else 1
            elif byte & 0xC0 != 0x80:  # not a later byte of a character
                characters += 1
                if characters > most_characters:
                    break
        elif byte == QUOTE:
            inside = True
            if characters > most_characters:
                break
        elif byte == COMMA or byte in OPENS:
            values += 1
            if byte != COMMA:
                depth += 1
                deepest = max(deepest, depth)
            if values > most_values or deepest > most_depth:
                break
        elif byte in CLOSES:
            depth -= 1
    return values, characters, deepest
