from .studio import *  # NOQA
