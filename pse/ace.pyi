from pse.emulate import *  # noqa: F403
