#!/bin/sh
# Asks the service to stop. The agent checks that it does.
set -eu
kill "$(cat web.pid)"
