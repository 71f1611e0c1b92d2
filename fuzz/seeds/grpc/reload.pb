
H
F
-
otherecho"
tensorflow:²
B

stable

latestecho:¢