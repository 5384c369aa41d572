"""`python tied_program.py PARENT SIGNAL UID GID COMMAND …`: becomes a command that Linux sends a signal when its parent ends.

Started by the path of this file, since importing anything else would cost more than the rest (finops.processes.tie).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, number, uid, gid, *command = sys.argv[1:]
    if uid:
        # Before prctl: a change of user clears the signal.
        os.setgroups([])
        os.setgid(int(gid))
        os.setuid(int(uid))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number))
    # Python ignores them, and a command inherits that.
    for each in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(each, signal.SIG_DFL)
    # It may have ended before.
    if os.getppid() == int(parent):
        os.execv(command[0], command)  # noqa: S606 - no shell is meant


if __name__ == "__main__":
    main()
