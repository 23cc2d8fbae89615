#!/bin/sh
# Plans in the working directory, and keeps the plan in three files: the one that apply.sh
# applies, $PLAN.txt for the person who approves it, and $PLAN.json for the policies. CLI is
# terraform or tofu.
set -eu
cli=${CLI:-terraform}
plan=${PLAN:-tfplan}

umask 077 # plan and JSON contain what the plan on the screen hides
rm -f "$plan" "$plan.json" "$plan.txt"
"$cli" init -input=false
"$cli" plan -input=false -lock-timeout=5m -out="$plan"
"$cli" show -no-color "$plan" >"$plan.txt"
"$cli" show -json "$plan" >"$plan.json"
