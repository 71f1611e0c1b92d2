"""Layers with variables: ``tf.layers``. Functions make a layer and call it; the classes' objects may be called often and share their variables.

Variables are called ``scope/kernel`` and so on, where the scope is `name`, or the class's name made unique: ``dense``, ``dense_1``.
"""

from flowmill.layers._base import InputSpec, Layer
from flowmill.layers._convolution import (
    Conv1D, Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose, SeparableConv1D, SeparableConv2D, conv1d, conv2d, conv2d_transpose, conv3d,
    conv3d_transpose, separable_conv1d, separable_conv2d,
)
from flowmill.layers._core import Dense, Dropout, Flatten, dense, dropout, flatten
from flowmill.layers._normalization import BatchNormalization, batch_normalization
from flowmill.layers._pooling import (
    AveragePooling1D, AveragePooling2D, AveragePooling3D, MaxPooling1D, MaxPooling2D, MaxPooling3D, average_pooling1d, average_pooling2d,
    average_pooling3d, max_pooling1d, max_pooling2d, max_pooling3d,
)


__all__ = [
    "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "BatchNormalization", "Conv1D", "Conv2D", "Conv2DTranspose", "Conv3D",
    "Conv3DTranspose", "Dense", "Dropout", "Flatten", "InputSpec", "Layer", "MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "SeparableConv1D",
    "SeparableConv2D", "average_pooling1d", "average_pooling2d", "average_pooling3d", "batch_normalization", "conv1d", "conv2d",
    "conv2d_transpose", "conv3d", "conv3d_transpose", "dense", "dropout", "flatten", "max_pooling1d", "max_pooling2d", "max_pooling3d",
    "separable_conv1d", "separable_conv2d",
]
