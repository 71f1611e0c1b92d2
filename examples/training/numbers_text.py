"""A text to learn from: the numbers from zero to 999 in words, in a shuffled order that is always the same."""

import numpy as np

_ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
         "nineteen").split()
_TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()


def words(number):
    """The words of a number below 1000."""
    if number < 20:
        return [_ONES[number]]
    if number < 100:
        return [_TENS[number // 10], *([_ONES[number % 10]] if number % 10 else [])]
    return [_ONES[number // 100], "hundred", *(["and", *words(number % 100)] if number % 100 else [])]


def text():
    """All of them, with commas between."""
    return ", ".join(" ".join(words(int(n))) for n in np.random.RandomState(0).permutation(1000))
