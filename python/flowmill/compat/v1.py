"""Version 1's API, which is what this package has: the module is the package itself."""

import sys

import flowmill

sys.modules[__name__] = flowmill
