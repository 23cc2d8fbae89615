#!/usr/bin/env bash
# Shows how Terraform takes over a business that GSEKit runs: 60 processes on virtual hosts and
# three real ones on this machine, none of which is restarted. Each step is checked. The first step
# that fails ends the demo with a non-zero exit code.
#
#   make demo STORY=adopt                          or
#   CLI=tofu bash examples/demo/adopt/run.sh       (CLI: terraform, tofu, or a path to one)
#
# ../run.sh says what it needs and leaves behind, and what DEMO_KEEP does.
set -Eeuo pipefail

CLI=${CLI:-$(command -v terraform || command -v tofu || echo terraform)}
FACE=${FACE:-esb} # the way into the platform: esb or apigw (the API gateway)
# With agent, what the agents really host is read, and processes that are as declared are taken over
# without a call.
VERIFY=${VERIFY:-labels}

story=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../stage.sh
source "$story/../stage.sh"
# shellcheck source-path=SCRIPTDIR source=gsekit.sh
source "$story/gsekit.sh"
[[ $FACE == esb || $FACE == apigw ]] || fail "FACE=$FACE has no part in this story; it is esb or apigw"
config=$story/main.tf
set_stage "$story/.."

# pids prints a line for every process that runs.
pids() {
  http GET "$sim" /_sim/processes | grep -E '"(host|name|pid)":' | paste -d ' ' - - - | grep -v '"pid": -1' | sort
}

# operations is the number of starts, stops, restarts, reloads and kills.
operations() { grep -cE ' op=[01789] ' "$work/simulator.log" || true; }

# changes are the calls so far that changed something, without queries to CMDB and scripts that only
# read.
changes() { changing_calls 0 | grep -vE '^((async|fast)_execute_script|batch_get|list|search)_?[^ ]* ' || true; }

step 'A business in CMDB' \
  'topology.json has it: the module web on three hosts here, gateway and worker on 45 virtual ones.'
sed "s/PORT/$port/" "$story/topology.json" >"$work/topology.json"
start_platform "$FACE" -topology "$work/topology.json"
ok "a simulated BlueKing answers at http://$sim"

step 'GSEKit runs it' \
  'It asks CMDB for the hosts of each process, and has GSE start one instance after the other, which hosts it too.'
for process in web gateway worker; do
  where=()
  while IFS= read -r host; do where+=("$host"); done < <(gsekit_hosts "$FACE" "$process")
  [[ ${#where[@]} -gt 0 ]] || fail "CMDB should know the hosts of $process"
  for instance in $(seq "$([[ $process == worker ]] && echo 2 || echo 1)"); do
    gsekit_start "$FACE" "$process" "$instance" "${where[@]}" || fail "GSEKit should have started ${process}_$instance"
    ok "${process}_$instance runs on ${#where[@]} hosts, in the namespace $namespace"
  done
done
pids >"$work/pids"
[[ $(wc -l <"$work/pids") -eq 63 ]] || fail 'there should be 63 processes'
for ip in "${hosts[@]}"; do
  pid=$(service_pid "$ip") || fail "nothing answers at $ip:$port"
  seen_pids+=("$pid")
  ok "http://$ip:$port answers: pid $pid"
done
export BK_VERIFY=$VERIFY
# Through the ESB, JOB runs the script that reads what the agents host, in the business of the hosts.
[[ $FACE != esb ]] || export BK_HOSTED_SPECS_JOB_SCOPE_ID=3
started=$(operations) changed=$(changes)

step 'Terraform takes it over' \
  'main.tf asks CMDB what GSEKit runs, and registers it as it is: adopt_existing = true.'
tf_ok init
show 'successfully initialized'
tf_ok apply -auto-approve
show '^Plan:|^Apply complete'
expect 'Resources: 4 added, 0 changed, 0 destroyed'
[[ $(operations) -eq $started ]] || fail 'nothing should have been started, stopped or restarted'
diff "$work/pids" <(pids) >"$out" || fail_saying 'every process should have the pid that it had'
ok 'all 63 processes run on, with the pids that they had, and nothing was operated'
if [[ $VERIFY == agent ]]; then
  [[ $(changes) == "$changed" ]] || fail 'no call should have changed anything'
  ok 'no call changed anything: what the agents host is what is declared'
fi
tf_plan 0
show '^No changes'
ok 'exit code 0: no difference'

if [[ $VERIFY == agent ]]; then
  step 'A stop command is changed by hand' 'Somebody edits the file of one agent.'
  edit='{"action":"edit_entry","host":"0:10.0.1.1","namespace":"'$namespace'","name":"gateway_1","fields":{"stopCmd":"./stop.sh -9"}}'
  command_line "POST http://$sim/_sim/act $edit"
  http POST "$sim" /_sim/act "$edit" >/dev/null || fail 'the simulator refuses'
  tf_plan 2
  show_block '^  # bk_hosted_process.shop' '^    }'
  show '^Plan:'
  expect '→ \"./stop.sh -9\"'
  expect 'Plan: 0 to add, 1 to change, 0 to destroy.'
  ok 'the plan names the host and the field'
  tf_ok apply -auto-approve
  show '^Apply complete'
  tf_plan 0
  show '^No changes'
  ok 'exit code 0: it is hosted as declared again'
fi

step 'CMDB gains a host' 'A machine more in the module gateway.'
gain='{"action":"add","module":"shop/gz-1/gateway","hosts":{"ip":"10.0.1.101","name":"gateway-31"}}'
command_line "POST http://$sim/_sim/cmdb $gain"
http POST "$sim" /_sim/cmdb "$gain" >/dev/null || fail 'the simulator refuses'
tf_plan 2
show_block '^  # bk_hosted_process.shop' '^    }'
show '^Plan:'
expect 'Plan: 0 to add, 1 to change, 0 to destroy.'
[[ $(grep -cE '^ +\+ "' "$out") -eq 1 ]] || fail_saying 'the plan should have one line for the new host'
ok 'the plan shows that host, and nothing else'

step 'The scope is wrong' 'Somebody writes gz-[1-2] in place of *, which leaves out a third of the hosts, and all of one process.'
sed -i.bak 's/set = "\*"/set = "gz-[1-2]"/' main.tf
tf plan
[[ $status -eq 1 ]] || fail_saying "the exit code should be 1, and is $status"
show '^Error:'
expect 'Error: Deletion Protected'
expect 'Error: Change Goes Too Far'
mv main.tf.bak main.tf
ok 'safety refuses: no plan removes so many hosts'

step 'A module is emptied' 'Somebody moves every worker of CMDB to the idle hosts. Their processes run.'
for n in 1 2 3; do
  http POST "$sim" /_sim/cmdb '{"action":"empty","module":"shop/gz-'$n'/worker"}' >/dev/null || fail 'the simulator refuses'
done
tf plan
[[ $status -eq 1 ]] || fail_saying "the exit code should be 1, and is $status"
show_block 'Error:' 'lower min_hosts'
expect 'min_hosts'
ok 'min_hosts refuses: an answer without hosts removes none'
diff "$work/pids" <(pids) >"$out" || fail_saying 'every process should have the pid that it had'
ok 'all 63 processes run on'

violations=$(http GET "$sim" /_sim/violations) || fail 'the simulator does not answer'
[[ $violations =~ \"violations\":\ (\[\]|null) ]] || fail "the simulator was called in ways that no document allows: $violations"
ok 'every call was one that the documents allow'

printf '\n%sThat was all of it, in %d seconds. The configuration: examples/demo/adopt/main.tf%s\n' "$bold" "$SECONDS" "$plain"
