"""Writes the package's stubs, which tell type checkers and editors what its source does not: see `source`. Run it when a name comes or goes; a test
holds the stubs to the code.

    python python/make_stubs
"""

import pathlib
import sys

# At the end, so that an installed package with its core goes before the sources beside this.
sys.path.append(str(pathlib.Path(__file__).parent.parent))

from make_stubs import package  # noqa: E402

if __name__ == "__main__":
    package.write()
