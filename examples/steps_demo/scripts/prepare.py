"""Prints the sum and the greatest of the numbers in a file."""

import sys
from pathlib import Path

numbers = [int(line) for line in Path(sys.argv[1]).read_text().split()]
print(f"sum {sum(numbers)}, greatest {max(numbers)}")
