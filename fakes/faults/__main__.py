"""`python -m fakes.faults`: see `fakes.fault_list`."""

import sys

from fakes.fault_list import main

sys.exit(main())
