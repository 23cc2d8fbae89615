# What a plan does to processes on hosts, for the policies beside this file. The plan is
# the JSON of `terraform show -json`.
package bk.plan

hosted := {"bk_hosted_process", "bk_job_hosted_process"}

operations := {"bk_process_operation", "bk_job_process_operation"}

# changes are the planned changes of the provider's resources, without those that do nothing.
changes contains change if {
	some change in input.resource_changes
	change.type in (hosted | operations)
	some action in change.change.actions
	action in {"create", "update", "delete"}
}

# invocations are the actions that an apply of the plan would invoke.
invocations contains invoked(invocation) if some invocation in input.action_invocations

invocations contains invoked(deferred.action_invocation) if some deferred in input.deferred_action_invocations

invoked(invocation) := {
	"address": invocation.address,
	"values": map_of(invocation, "config_values"),
	"unknown": map_of(invocation, "config_unknown"),
} if {
	invocation.type in operations
}

before(change) := change.change.before if is_object(change.change.before)

else := {}

after(change) := change.change.after if is_object(change.change.after)

else := {}

# value is an attribute, or null if it is not set or not known yet. A reference to something
# that is not there would make the whole rule undefined, even after a "not".
value(values, attribute) := object.get(values, attribute, null)

does(change, action) if action in change.change.actions

# replaced says that an object is destroyed and another created, in either order.
replaced(change) if {
	does(change, "create")
	does(change, "delete")
}

# unknown says that an attribute, or a part of it, is not known before the apply.
unknown(change, attribute) if {
	walk(change.change.after_unknown[attribute], [_, true])
}

# hosts_unknown says that it is not known yet which hosts a change concerns.
hosts_unknown(change) if unknown(change, "hosts")

hosts_unknown(change) if {
	change.type in operations
	some attribute in {"declaration", "processes"}
	unknown(change, attribute)
}

hosts_unknown(change) if {
	change.type == "bk_process_operation"
	unknown(change, "process")
}

# invoked_unknown says the same of an invocation.
invoked_unknown(invocation) if {
	some attribute in {"hosts", "processes", "process", "declaration"}
	walk(invocation.unknown[attribute], [_, true])
}

invoked_unknown(invocation) if count(hosts(invocation.values)) == 0

# hosts are those of a set of attributes, as {"key": …, "address": …}: set as such, or in
# the one value that represents a process and its hosts.
hosts(values) := {{"key": key, "address": address} |
	some map in host_maps(values)
	some key, address in map
}

host_maps(values) := ({map |
	map := values.hosts
	is_object(map)
} | {map |
	some attribute in ["process", "declaration"]
	is_string(values[attribute])
	map := json.unmarshal(values[attribute]).hosts
}) | {map |
	some one in processes(values)
	map := one.hosts
}

# processes are those of an operation on several, each an object or the value that
# represents one.
processes(values) := [one |
	is_object(values.processes)
	some given in values.processes
	some one in array.concat(
		[given | is_object(given); is_object(given.hosts)],
		[json.unmarshal(text) | text := one_value(given)],
	)
]

one_value(given) := given if is_string(given)

one_value(given) := given.process if {
	is_object(given)
	is_string(given.process)
}

one_value(given) := given.declaration if {
	is_object(given)
	is_string(given.declaration)
}

addresses(some_hosts) := {host.address | some host in some_hosts}

keyed(some_hosts, keys) := {host | some host in some_hosts; host.key in keys}

# fresh are the hosts of a change that were not its hosts before.
fresh(change) := {host |
	some host in hosts(after(change))
	not host.address in addresses(hosts(before(change)))
}

# leaving are the hosts that a change takes away from a hosted process.
leaving(change) := hosts(before(change)) if does(change, "delete")

leaving(change) := {host |
	some host in hosts(before(change))
	not host.address in addresses(hosts(after(change)))
} if {
	not does(change, "delete")
	not hosts_unknown(change)
}

default leaving(_) := set()

# may_reach says that a change may reach hosts that are not known yet, as reached says of
# known ones. Hosts that join a hosted process do not count, even if adopt_existing takes
# them over.
may_reach(change) if {
	hosts_unknown(change)
	change.type in operations
	not records_all(change)
}

may_reach(change) if {
	hosts_unknown(change)
	change.type in hosted
	change.change.actions != ["create"]
}

# reached are the hosts on which a change runs an operation, or registers again what was
# registered there before.
reached(change) := hosts(after(change)) - recorded(change) if reaches_all(change)

reached(change) := (fresh(change) - recorded(change)) | keyed(hosts(after(change)), left_over) if {
	change.type in operations
	change.change.actions == ["update"]
	not reaches_all(change)
	left_over := object.keys(map_of(before(change), "failed_hosts"))
}

reached(change) := keyed(hosts(after(change)), left_over) if {
	change.type in hosted
	change.change.actions == ["update"]
	not reaches_all(change)
	left_over := object.keys(map_of(before(change), "out_of_sync"))
}

default reached(_) := set()

# ended are the hosts on which a change runs on_destroy of an operation.
ended(change) := hosts(before(change)) if {
	change.type in operations
	does(change, "delete")
	is_string(before(change).on_destroy)
}

default ended(_) := set()

# recorded are the hosts that join an operation without it being run there.
recorded(change) := fresh(change) if {
	change.type in operations
	value(after(change), "run_on_create") == false
}

default recorded(_) := set()

# records_all says that an operation is created and runs nowhere.
records_all(change) if {
	change.change.actions == ["create"]
	value(after(change), "run_on_create") == false
}

map_of(values, attribute) := values[attribute] if is_object(values[attribute])

else := {}

reaches_all(change) if {
	change.type in operations
	does(change, "create")
	value(after(change), "run_on_create") != false
}

reaches_all(change) if {
	change.type in operations
	does(change, "update")
	some attribute in {"operation", "triggers", "id"}
	differs(change, attribute)
}

# For an operation on several processes, only state knows which of them have to run on a
# host.
reaches_all(change) if {
	change.type in operations
	does(change, "update")
	some values in [before(change), after(change)]
	is_object(value(values, "processes"))
}

reaches_all(change) if {
	change.type in hosted
	replaced(change)
}

reaches_all(change) if {
	change.type in hosted
	does(change, "update")
	some attribute in {"fingerprint", "ensure"}
	differs(change, attribute)
}

differs(change, attribute) if unknown(change, attribute)

differs(change, attribute) if {
	value(before(change), attribute) != value(after(change), attribute)
}

# named lists hosts for a message, the first ten of them.
named(some_hosts) := text if {
	all := sort([sprintf("%s (%s)", [host.key, host.address]) | some host in some_hosts])
	count(all) <= 10
	text := concat(", ", all)
}

named(some_hosts) := text if {
	all := sort([sprintf("%s (%s)", [host.key, host.address]) | some host in some_hosts])
	count(all) > 10
	text := sprintf("%s and %d more", [concat(", ", array.slice(all, 0, 10)), count(all) - 10])
}
