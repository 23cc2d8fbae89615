# Nothing is killed: a process that is killed cannot finish what it was doing.
package bk.kill

import data.bk.plan

deny contains message if {
	some change in plan.changes
	change.type in plan.operations
	plan.after(change).operation == "kill"
	message := refusal(change.address, "the operation is a kill of", named(change), "operation = \"stop\"")
}

deny contains message if {
	some change in plan.changes
	on_destroy(change) == "kill"
	leaving := plan.leaving(change)
	count(leaving) > 0
	message := refusal(change.address, "on_destroy kills on", plan.named(leaving), "and apply on_destroy = \"stop\" first")
}

deny contains message if {
	some change in plan.changes
	some attribute in {"operation", "on_destroy"}
	plan.unknown(change, attribute)
	message := refusal(change.address, sprintf("%s is not known before the apply, so it may be a kill of", [attribute]), named(change), "a value that is known")
}

deny contains message if {
	some invocation in plan.invocations
	not known_and_harmless(invocation)
	message := refusal(invocation.address, "the action is, or may be, a kill of", invoked(invocation), "operation = \"stop\"")
}

deny contains message if {
	some change in plan.changes
	on_destroy(change) == "kill"
	change.type in plan.hosted
	plan.hosts_unknown(change)
	count(plan.before(change)) > 0
	message := refusal(change.address, "on_destroy kills, where they leave, on", named(change), "and apply on_destroy = \"stop\" first")
}

# A destroy does what state says, and an update does what is declared now.
on_destroy(change) := plan.before(change).on_destroy if plan.does(change, "delete")

on_destroy(change) := plan.after(change).on_destroy if {
	change.type in plan.hosted
	not plan.does(change, "delete")
}

known_and_harmless(invocation) if {
	is_string(invocation.values.operation)
	invocation.values.operation != "kill"
}

named(change) := "hosts that are not known before the apply" if plan.hosts_unknown(change)

named(change) := plan.named(plan.hosts(plan.after(change))) if not plan.hosts_unknown(change)

invoked(invocation) := plan.named(all) if {
	all := plan.hosts(invocation.values)
	count(all) > 0
} else := "hosts that are not known before the apply"

refusal(address, what, which, instead) := sprintf("%s: %s %s. Declare %s, or name this address under exceptions.kill of settings.json.", [address, what, which, instead]) if {
	not address in data.settings.exceptions.kill
}
