"""What programs import from TensorFlow's package of this name."""
