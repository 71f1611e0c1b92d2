"""The public names of TensorFlow's inner package of this name."""
