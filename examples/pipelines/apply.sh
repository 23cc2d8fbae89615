#!/bin/sh
# Applies the plan that was approved, and no other: Terraform refuses the plan if the state
# has changed since. The policies check this very file once more.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cli=${CLI:-terraform}
plan=${PLAN:-tfplan}

umask 077
"$cli" init -input=false
"$cli" show -json "$plan" >"$plan.json"
PLAN=$plan "$here/policy.sh"
"$cli" apply -input=false -lock-timeout=5m "$plan"
