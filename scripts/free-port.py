#!/usr/bin/env python3
"""Prints a port where nobody listens, below those that outgoing connections take: so nobody comes between this and the program that will listen there."""

import random
import socket

while True:
    port = random.randrange(18000, 30000)
    with socket.socket() as place:
        try:
            place.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
