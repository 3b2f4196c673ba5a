from pse.coschedule import *  # noqa: F403
