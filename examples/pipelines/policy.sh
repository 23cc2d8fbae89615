#!/bin/sh
# Checks a plan against the policies. Exits with 0 if they allow it. Otherwise, it exits
# with 1 and says why. A plan that cannot be judged is not allowed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
plan=${PLAN:-tfplan}

if said=$("${OPA:-opa}" eval --strict-builtin-errors --format raw \
	--data "$here/policy" --input "$plan.json" data.bk.report); then
	if [ "$said" = allowed ]; then
		echo "The policies allow this plan."
		exit 0
	fi
	printf 'The policies refuse this plan.\n%s\n' "$said" >&2
	exit 1
fi
printf 'The policies could not be asked, so nothing is allowed.\n%s\n' "$said" >&2
exit 1
