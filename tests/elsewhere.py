"""A plugin of pytest that takes away what other systems do not have, before the library is imported.

    PYTHONPATH=tests NUMBA_CPU_NAME=generic pytest -p elsewhere tests/recording/test_lanes.py

Nothing forks, no set of processors is told, the system goes by the name of Windows, so that no vector math library is
looked for; and the kernels are for what all processors of this architecture can do.  What a system does in another
way rather than not at all (paths, locked files, another architecture) only a machine of that kind shows.
"""

import os
import platform

for _missing in ("fork", "register_at_fork", "sched_getaffinity"):
    if hasattr(os, _missing):
        delattr(os, _missing)
platform.system = lambda: "Windows"
os.environ.setdefault("NUMBA_CPU_NAME", "generic")
