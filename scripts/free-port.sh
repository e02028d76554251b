#!/usr/bin/env bash
# Prints a port of 127.0.0.1 where nobody listens: below those that outgoing connections take, so that none of them comes between this and the program
# that will listen there, nor takes it while that program is started again.
set -euo pipefail
exec python3 - <<'END'
import random, socket
while True:
    port = random.randrange(18000, 30000)
    with socket.socket() as place:
        try:
            place.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
END
