"""What checks Metal source where Apple's compiler is not: clang and declarations of the library."""
