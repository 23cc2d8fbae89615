#!/bin/sh
# Starts the service on the given port, in the background, and writes down its
# pid. The agent runs this to start the service and to revive it.
set -eu
listen="${BK_HOST_IP:-}:$1"

# What would keep it from starting is said here, where the agent passes it on.
./web -t -listen "$listen"

./web -listen "$listen" </dev/null >>web.log 2>&1 &
echo $! >web.pid
