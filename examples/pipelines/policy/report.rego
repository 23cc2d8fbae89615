# The answer to one plan: the text "allowed", or the reasons why it is not. A plan that
# cannot be judged is not allowed.
package bk

import data.bk.plan

default report := "The policies say nothing about this plan, which is no permission."

report := "allowed" if count(reasons) == 0

report := concat("\n", sort(reasons)) if count(reasons) > 0

reasons := ((data.bk.kill.deny | data.bk.waves.deny) | data.bk.removal.deny) | unreadable

unreadable contains "This is not the JSON of a plan: give the policies what terraform show -json prints for a saved plan." if not is_plan

unreadable contains "The plan ended with an error, so it does not tell all that would change: plan again." if input.errored

unreadable contains message if {
	some change in input.resource_changes
	startswith(change.type, "bk_")
	change.mode == "managed"
	not change.type in (plan.hosted | plan.operations)
	message := sprintf("%s: these policies do not know the type %s: take the ones of this release of the provider.", [change.address, change.type])
}

unreadable contains message if {
	some invocation in input.action_invocations
	startswith(invocation.type, "bk_")
	not invocation.type in plan.operations
	message := sprintf("%s: these policies do not know the type %s: take the ones of this release of the provider.", [invocation.address, invocation.type])
}

unreadable contains "settings.json does not have the limits and exceptions that the policies go by." if not settings_read

settings_read if {
	is_number(data.settings.limits.hosts_without_waves)
	is_number(data.settings.limits.removed_percent)
	is_array(data.settings.exceptions.kill)
	is_array(data.settings.exceptions.waves)
	is_array(data.settings.exceptions.removal)
}

is_plan if {
	startswith(input.format_version, "1.")
	is_object(input.planned_values)
}
