"""TensorFlow's inner package, as far as programs import from it: ``flowmill.python.client.device_lib``."""
