"""A driver that ends without closing its pool: ``killed_driver.py FOLDER kill|wait PLACE``.

It writes its own state after 10 calls, makes 5 more, writes the workers' processes, and is killed or waits in a call.
"""

import os
import signal
import sys
from pathlib import Path

import numpy as np
from toy_parts import makers, processes, steps

from treeplex.solvers.distributed.parts import WorkerPool

if __name__ == "__main__":
    folder, way, on = Path(sys.argv[1]), *sys.argv[2:]
    with WorkerPool.open(makers(folder), on, folder=folder / "parts", checkpoint_every=4) as pool:
        steps(pool, range(10))
        np.savez(folder / "driver.npz", **pool.saved())
        steps(pool, range(10, 15))
        if way == "wait":
            (folder / "hang-1").touch()
        (folder / "writing").write_text(" ".join(map(str, processes(pool))))
        (folder / "writing").rename(folder / "processes")
        if way == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            steps(pool, [15])
        except KeyboardInterrupt:
            sys.exit(77)
