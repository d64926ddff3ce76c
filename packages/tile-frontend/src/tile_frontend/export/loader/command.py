"""`python -m NAME`: what the kernel is; with --self-check, whether it is right on this machine."""

import argparse
import sys

from .package import KernelError, kernel


def main() -> int:
    """Exit status: 0, or 1 where the check fails."""
    parser = argparse.ArgumentParser(prog=f"python -m {kernel.name}")
    parser.add_argument("--self-check", action="store_true", help="run stored inputs and compare")
    parser.add_argument("--device", type=int, default=0, help="number of the device (default 0)")
    asked = parser.parse_args()
    if not asked.self_check:
        print("\n".join([kernel.name, *kernel.variants()]))
        return 0
    try:
        print(kernel.self_check(asked.device))
    except KernelError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
