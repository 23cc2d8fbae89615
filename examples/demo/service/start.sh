#!/bin/sh
# Starts the service on the given port, in the background, and writes its pid to
# a file. The agent runs this to start the service and to revive it.
set -eu
listen="${BK_HOST_IP:-}:$1"

# This reports what would keep the service from starting, while the agent still
# passes it on.
./web -t -listen "$listen"

./web -listen "$listen" </dev/null >>web.log 2>&1 &
echo $! >web.pid
