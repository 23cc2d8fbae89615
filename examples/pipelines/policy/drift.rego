# What a nightly plan found, for a message: hosts and codes, and neither commands nor what
# they printed.
package bk.drift

message := concat("\n", array.concat(["Not as declared:"], sort(lines)))

lines contains sprintf("%s: %s: %s", [change.address, key, code]) if {
	some change in input.resource_changes
	some attribute in ["out_of_sync", "failed_hosts"]
	some key, reason in change.change.before[attribute]
	code := split(reason, ":")[0]
}

lines contains sprintf("%s: %s", [change.address, concat(" and ", change.change.actions)]) if {
	some change in input.resource_changes
	not change.change.actions in [["no-op"], ["read"]]
}

lines contains "outputs change" if {
	some change in input.output_changes
	change.actions != ["no-op"]
}

# chat is the message as robots of WeCom and many others take it.
chat := json.marshal({"msgtype": "text", "text": {"content": message}})
