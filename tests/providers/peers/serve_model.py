"""Runs the llama.cpp server until it is ended.

usage: serve_model.py MODEL PORT
"""
import signal
import sys

import xllamacpp

settings = xllamacpp.CommonParams()
settings.model.path = sys.argv[1]
settings.hostnames = ["127.0.0.1"]
settings.port = int(sys.argv[2])
settings.n_ctx = 4096
settings.n_parallel = 2
settings.use_jinja = True
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(settings)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
