# What a nightly plan found, for a message: hosts and codes, but neither commands nor their
# output.
package bk.drift

message := text(sort(lines))

text(some_lines) := concat("\n", array.concat(["Not as declared:"], some_lines))

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

# chat is the message in the form that WeCom robots accept. They refuse more than 2,048
# bytes, so it has only the first lines, and 20 at most.
chat := json.marshal({"msgtype": "text", "text": {"content": concat("", [first(shown), more])}})

first(n) := text(array.slice(sort(lines), 0, n))

# Base64 takes four characters for three bytes.
shown := max({n | some n in numbers.range(0, 20); count(base64.encode(first(n))) < 2500})

default more := ""

more := sprintf("\nand %d more", [count(lines) - shown]) if count(lines) > shown
