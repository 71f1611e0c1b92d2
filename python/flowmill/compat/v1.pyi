from flowmill import *  # noqa: F403
