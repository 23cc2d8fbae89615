#!/bin/sh
# Looks for drift, and changes nothing. Exits as plan -detailed-exitcode does: 0 without
# drift, 2 with it, 1 if that could not be found out. If NOTIFY_URL is the address of a
# WeCom chat's robot, the robot gets what is wrong. For another robot, change notify.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cli=${CLI:-terraform}
plan=${PLAN:-drift}

notify() { # JSON
	[ -n "${NOTIFY_URL-}" ] || return 0
	answer=$(printf '%s' "$1" | curl --fail --silent --show-error --max-time 30 \
		--header 'Content-Type: application/json' --data-binary @- "$NOTIFY_URL") || true
	case $answer in # a refusal has status 200, too
	*'"errcode":0,'*) ;;
	*) echo "Nobody could be notified. $answer" >&2 ;;
	esac
}

not_known() {
	echo "Nobody knows whether there is drift: see above." >&2
	notify '{"msgtype":"text","text":{"content":"The search for drift failed: see its log."}}'
	exit 1
}

umask 077
rm -f "$plan" "$plan.json"
"$cli" init -input=false || not_known
status=0
"$cli" plan -input=false -lock-timeout=5m -detailed-exitcode -out="$plan" || status=$?
case $status in
0) exit 0 ;;
2) ;;
*) not_known ;;
esac

drift() { # QUERY
	"${OPA:-opa}" eval --strict-builtin-errors --format raw --data "$here/policy" --input "$plan.json" "$1"
}
"$cli" show -json "$plan" >"$plan.json" || not_known
drift data.bk.drift.message || not_known
chat=$(drift data.bk.drift.chat) || not_known
notify "$chat"
exit 2
