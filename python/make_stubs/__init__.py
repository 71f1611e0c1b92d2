"""Makes the stubs of the package from its code."""
