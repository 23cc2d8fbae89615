# No process loses many of its hosts at once: usually, the cause is a list that came out
# short. A destroy or a replacement removes all hosts.
package bk.removal

import data.bk.plan

limit := data.settings.limits.removed_percent

deny contains message if {
	some change in plan.changes
	change.type in plan.hosted
	leaving := plan.leaving(change)
	all := plan.addresses(plan.hosts(plan.before(change)))
	n := count(plan.addresses(leaving))
	n * 100 > limit * count(all)
	message := refusal(change.address, sprintf("takes away %d of its %d hosts: %s", [n, count(all), plan.named(leaving)]))
}

deny contains message if {
	some change in plan.changes
	change.type in plan.hosted
	change.change.actions == ["update"]
	plan.hosts_unknown(change)
	message := refusal(change.address, "has hosts that are not known before the apply, so that any of those it has may leave")
}

refusal(address, what) := sprintf("%s: %s. More than %d %% at once is refused: put them back, or take them away in several changes; where all this is meant, name this address under exceptions.removal of settings.json.", [address, what, limit]) if {
	not address in data.settings.exceptions.removal
}
