# A change that reaches many hosts goes in waves, so that a mistake stops at the first wave.
package bk.waves

import data.bk.plan

limit := data.settings.limits.hosts_without_waves

deny contains at_once(change.address, plan.reached(change), rollout(change)) if some change in plan.changes

# on_destroy goes by what is in state.
deny contains at_once(change.address, plan.ended(change), plan.value(plan.before(change), "rollout")) if some change in plan.changes

deny contains at_once(invocation.address, plan.hosts(invocation.values), rollout_of(invocation)) if some invocation in plan.invocations

# How many hosts it will be is not known.
deny contains message if {
	some change in plan.changes
	plan.may_reach(change)
	not in_waves(rollout(change), limit + 1)
	message := refusal(change.address, "hosts that are not known before the apply")
}

deny contains message if {
	some invocation in plan.invocations
	plan.invoked_unknown(invocation)
	not in_waves(rollout_of(invocation), limit + 1)
	message := refusal(invocation.address, "hosts that are not known before the apply")
}

rollout(change) := plan.value(plan.after(change), "rollout")

rollout_of(invocation) := plan.value(invocation.values, "rollout")

at_once(address, reached, given) := message if {
	n := count(plan.addresses(reached))
	n > limit
	not in_waves(given, n)
	message := refusal(address, sprintf("%d hosts at once: %s", [n, plan.named(reached)]))
}

# in_waves says that the first wave does not already have all hosts.
in_waves(given, n) if {
	is_number(given.batch_size)
	given.batch_size < n
}

in_waves(given, n) if {
	is_array(given.waves)
	first_wave(given.waves[0], n) < n
}

first_wave(size, n) := ceil((to_number(trim_suffix(size, "%")) * n) / 100) if endswith(size, "%")

first_wave(size, _) := to_number(size) if not endswith(size, "%")

refusal(address, which) := sprintf("%s: would reach %s. Beyond %d hosts, declare waves: rollout = { waves = [\"1\", \"10%%\", \"*2\"] } or rollout = { batch_size = 50 }; or name this address under exceptions.waves of settings.json.", [address, which, limit]) if {
	not address in data.settings.exceptions.waves
}
