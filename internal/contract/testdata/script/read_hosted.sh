#!/bin/sh
# Prints what the agent of this host hosts, from its own file, and changes nothing.
# Usage: read_hosted.sh FILE
# Of the file, only brackets, commas, colons and the values of the keys below leave the host.
# All other keys and values are emptied, "password" and "userPwd" among them.
LC_ALL=C
export LC_ALL
file=${1:?}
dir=${file%/*}
if [ ! -d "$dir" ]; then
	echo 'bk-hosted no-directory'
	exit 0
fi
if [ -x "$dir" ] && [ ! -e "$file" ] && [ ! -L "$file" ]; then
	echo 'bk-hosted missing'
	exit 0
fi
if [ ! -f "$file" ] || [ ! -r "$file" ]; then
	echo 'bk-hosted unreadable'
	exit 0
fi
echo 'bk-hosted begin'
# Records end at a quote: in turn they are text outside of strings, and strings.
tr -d '\000\r\n' <"$file" | awk '
BEGIN {
	RS = "\""
	ORS = ""
	count = split("proc contact valuekey procName setupPath pidPath user startCmd stopCmd restartCmd reloadCmd killCmd versionCmd healthCmd type cpulmt memlmt startCheckBeginTime startCheckEndTime opTimeOut operateType timestamp", names, " ")
	for (i = 1; i <= count; i++) known[names[i]] = 1
}
inside {
	string = string $0
	match($0, /\\*$/)
	if (RLENGTH % 2) { string = string "\""; next }
	inside = 0
	pending = 1
	next
}
{
	if (pending && /^[ \t]*:/) {
		key = (string in known) ? string : ""
		print "\"" (key == "" ? "-" : key) "\""
	} else if (pending) {
		print "\"" (key == "" ? "" : string) "\""
		key = ""
	}
	rest = $0
	if (key != "") {
		match(rest, /^[ \t]*:[ \t]*[^][{}:, \t]*/)
		print substr(rest, 1, RLENGTH)
		rest = substr(rest, RLENGTH + 1)
		if (rest != "" || $0 !~ /^[ \t]*:[ \t]*$/) key = ""
	}
	gsub(/[^][{}:, \t]+/, "0", rest)
	print rest
	string = ""
	pending = 0
	inside = 1
}
END { print "\nbk-hosted end\n" }'
