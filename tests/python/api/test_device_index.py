"""The op that says where a device is in a list: the values of TensorFlow."""

from compare import compare


def test_places_of_devices(tf1):
    compare(tf1, lambda tf: [tf.raw_ops.DeviceIndex(device_names=names) for names in (["GPU", "CPU", "CPU"], ["TPU"], ["CPU"], [])])
