"""The modules of the package that programs do not import: their public names are those of :mod:`flowmill` and of its modules."""
