"""The C and C++ text of the layer."""
