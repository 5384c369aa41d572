import sys

from finops_cli.main import main

sys.exit(main())
