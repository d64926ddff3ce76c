"""What the CPU computes with: matrix micro-kernels generated from a description, and
mathematics."""
