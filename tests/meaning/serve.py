"""Serves a model's embeddings with the llama.cpp server: serve.py MODEL PORT."""
import sys
import time

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(sys.argv[2])
parameters.embedding = True
parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = 512
# Several threads wait for each other by spinning, which a busy machine makes very slow.
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(parameters)
print("serving at", server.listening_address, flush=True)
while True:
    time.sleep(60)
