from .wfstudio import *  # NOQA
