#!/usr/bin/env bash
# Shows the provider's main job as a story, on this machine and for real: hosts
# a service on three local addresses, kills it, breaks a host behind Terraform's
# back, repairs it, and removes everything again. Each step is checked. The
# first step that fails ends the demo with a non-zero exit code.
#
#   make demo                                or
#   CLI=tofu bash examples/demo/run.sh       (CLI: terraform, tofu, or a path to one)
#
# It needs bash, Go, and Terraform or OpenTofu. Everything that it writes goes
# to a temporary directory, which it removes. DEMO_KEEP=1 keeps the directory
# with the state, the simulator's log of every API call, and each host's files.
set -Eeuo pipefail

CLI=${CLI:-$(command -v terraform || command -v tofu || echo terraform)}
FACE=${FACE:-esb} # the way into the platform: esb, apigw (the API gateway), or job (JOB)

demo=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=stage.sh
source "$demo/stage.sh"
set_face "$demo" "$FACE"
set_stage "$demo"

step 'A platform to talk to' \
  "A simulator takes the place of BlueKing. Its agents run commands for real, on ${hosts[0]}, .2 and .3."
start_platform "$FACE"
processes=$(http GET "$sim" /_sim/processes) || fail 'the simulator does not answer'
[[ $processes != *'"namespace"'* ]] || fail 'the platform knows a process already'
ok "it answers at http://$sim and knows of no process yet"

step 'Host the service and start it' \
  'main.tf declares a process on web-1, web-2 and web-3, an operation that starts it, and its status.'
tf_ok init
show 'successfully initialized'
tf_ok apply -auto-approve
show '^  # bk_.* will be|^Plan:|^bk_.*: Creat|^Apply complete'
show_block '^status = ' '^}'
expect 'Resources: 2 added, 0 changed, 0 destroyed'
for n in 1 2 3; do
  pid=$(pid_of "web-$n") || fail "web-$n should be running and hosted"
  seen_pids+=("$pid")
  answer=$(http GET "127.0.0.$n:$port" /) || fail "nothing answers at 127.0.0.$n:$port"
  [[ $answer == *"pid $pid" ]] || fail "127.0.0.$n:$port answers \"$answer\", and Terraform says pid $pid"
  ok "http://127.0.0.$n:$port answers: $answer"
done

step 'Ask for the difference' 'Everything is as declared, so there is nothing to do.'
tf_plan 0
show '^No changes'
ok 'exit code 0: no difference'

step 'Kill it' 'The service on web-2 dies. It is hosted, so its agent starts it again; Terraform has no part in it.'
old=${seen_pids[1]}
command_line "\$ kill -9 $old"
kill -9 "$old"
eventually 20 other_pid_answers 127.0.0.2 "$old" || fail 'the agent should have started it again'
pid=$(service_pid 127.0.0.2) || fail 'it died again'
seen_pids+=("$pid")
gone "$old" || fail "pid $old should be dead"
ok "http://127.0.0.2:$port answers again, with pid $pid"
tf_ok apply -refresh-only -auto-approve
show_block '^Changes to Outputs' '^    }'
[[ $(pid_of web-2) == "$pid" ]] || fail "the status of web-2 should be: running, hosted, pid $pid"
tf_plan 0
show '^No changes'
ok 'exit code 0: a death that the agent dealt with is no difference'

step "Break a host behind Terraform's back" \
  'Somebody unregisters the process on web-3. It goes on running there, and nobody would revive it.'
command_line "POST http://$sim/_sim/act $act"
http POST "$sim" /_sim/act "$act" >/dev/null || fail 'the simulator refuses'
[[ $(hosted_count) -eq 2 ]] || fail 'the platform should now host it on two hosts'
[[ $(service_pid 127.0.0.3) == "${seen_pids[2]}" ]] || fail 'the service on web-3 should still be running'
ok "it still answers with pid ${seen_pids[2]}, and is not hosted any more"
tf_plan 2
show_block '^  # bk_(job_)?hosted_process.web will' '^    }'
show '^Plan:'
ok 'exit code 2: there is a difference'
expect '"web-3" = "unregistered: '
expect 'Plan: 0 to add, 1 to change, 0 to destroy.'
[[ ! $(<"$out") =~ \"web-[12]\"\ =\ \"(not_|unregistered) ]] || fail 'the plan should leave web-1 and web-2 alone'
ok 'the plan names web-3, says why, and changes it in place'

step 'Heal it' 'apply does what the plan said, and touches no other host.'
calls_before=$(wc -l <"$work/simulator.log")
tf_ok apply -auto-approve
show '^bk_.*: Modif|^Apply complete'
show_block '^status = ' '^}'
expect 'Resources: 0 added, 1 changed, 0 destroyed'
changes=$(changing_calls "$calls_before")
printf "   The simulator's log of the calls that changed something:\n"
quote "$changes"
[[ -n $changes ]] || fail 'it should have called the platform'
while IFS= read -r call; do
  [[ $call == *' hosts=1 code=0 '* ]] || fail "it should have been for one host, and have worked: $call"
done <<<"$changes"
ok 'each was for one host'
[[ $(pid_of web-3) == "${seen_pids[2]}" ]] || fail "web-3 should be running and hosted, with pid ${seen_pids[2]} as before"
ok "web-3 is hosted again, and was not restarted for it (still pid ${seen_pids[2]})"
tf_plan 0
show '^No changes'
ok 'exit code 0: no difference'

step 'Take it down' 'main.tf says on_destroy = "stop": each service is stopped, then unregistered.'
tf_ok destroy -auto-approve
show '^Plan:|^bk_.*: Destr|^Destroy complete'
expect 'Resources: 2 destroyed'
services_gone || fail 'a service is still running'
ok "no service is left, by pid (${seen_pids[*]}) or by port ($port)"
processes=$(http GET "$sim" /_sim/processes) || fail 'the simulator does not answer'
[[ $processes != *'"namespace"'* ]] || fail "the platform still knows a process: $processes"
ok 'the platform knows of no process any more'
violations=$(http GET "$sim" /_sim/violations) || fail 'the simulator does not answer'
[[ $violations =~ \"violations\":\ (\[\]|null) ]] || fail "the simulator was called in ways that no document allows: $violations"
ok 'every call of the provider was one that the documents allow'
kill "$sim_pid" || fail 'the simulator should have been running till here'
eventually 10 gone "$sim_pid" || fail 'the simulator should have stopped'
! http GET "$sim" /_sim/ >/dev/null || fail "something still answers at http://$sim"
sim_pid=''
ok 'the simulator is stopped'

printf '\n%sThat was all of it, in %d seconds. The configuration: examples/demo/%s%s\n' \
  "$bold" "$SECONDS" "${config#"$demo/"}" "$plain"
