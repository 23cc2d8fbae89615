# shellcheck shell=bash
# What the demo in run.sh builds on: a directory with everything that it needs, the
# commands that tell the story, and a cleanup that leaves nothing behind.

hosts=(127.0.0.1 127.0.0.2 127.0.0.3)

config='' act='' work='' out='' status=0 port='' sim='' sim_pid='' tf_pid='' step_number=0
seen_pids=()

bold='' dim='' green='' red='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' dim=$'\e[2m' green=$'\e[32m' red=$'\e[31m' plain=$'\e[0m'
fi

# --- Telling ---------------------------------------------------------------

step() { # TITLE SENTENCE
  step_number=$((step_number + 1))
  printf '\n%s%d. %s%s\n   %s\n\n' "$bold" "$step_number" "$1" "$plain" "$2"
}

command_line() { printf '   %s%s%s\n' "$bold" "$*" "$plain"; }

quote() { # TEXT
  local line
  while IFS= read -r line; do printf '     %s%s%s\n' "$dim" "$line" "$plain"; done <<<"$1"
}

ok() { printf '   %s✔%s %s\n' "$green" "$plain" "$1"; }

fail() {
  printf '\n   %s✘ %s%s\n' "$red" "$1" "$plain"
  if [[ -n $sim_pid ]] && gone "$sim_pid"; then
    printf '     The simulator is not running any more.\n'
  fi
  exit 1
} >&2

# fail_saying adds how the last command ended.
fail_saying() {
  quote "$(tail -n 40 "$out")" >&2
  fail "$1"
}

# --- Terraform -------------------------------------------------------------

# tf runs Terraform, keeps what it says in $out and its exit code in $status.
# Terraform is ended if the simulator is gone, because it would otherwise wait
# for it.
tf() {
  command_line "\$ ${CLI##*/} $*"
  "$CLI" "$@" >"$out" 2>&1 &
  tf_pid=$!
  until gone "$tf_pid"; do
    ! gone "$sim_pid" || end "$tf_pid"
    sleep 0.05
  done
  status=0
  wait "$tf_pid" || status=$?
  tf_pid=''
}

tf_ok() {
  tf "$@"
  [[ $status -eq 0 ]] || fail_saying "${CLI##*/} $1 ended with exit code $status"
}

# tf_plan asks for the difference and expects 0 (none) or 2 (some).
tf_plan() { # EXIT_CODE
  tf plan -detailed-exitcode
  [[ $status -eq $1 ]] || fail_saying "the exit code should be $1, and is $status"
}

expect() { # TEXT
  [[ $(<"$out") == *"$1"* ]] || fail_saying "it should have said: $1"
}

# show prints those lines of $out that match.
show() { # REGEX
  local line
  while IFS= read -r line; do
    [[ ! $line =~ $1 ]] || quote "$line"
  done <"$out"
}

# show_block prints $out from the first line that matches to the next that does.
show_block() { # FIRST LAST
  local line inside=''
  while IFS= read -r line; do
    [[ -n $inside || ! $line =~ $1 ]] || inside=yes
    [[ -z $inside ]] || quote "$line"
    [[ -z $inside || ! $line =~ $2 ]] || return 0
  done <"$out"
}

# pid_of finds a host's pid in the output "status", if the host is as it should be.
pid_of() { # HOST_KEY
  local pattern="\"$1\" = \"running, hosted: true, pid: ([0-9]+)\""
  [[ $("$CLI" output status) =~ $pattern ]] || return 1
  printf '%s\n' "${BASH_REMATCH[1]}"
}

# --- The hosts and the platform --------------------------------------------

# http sends a request and prints the body of a 200. The simulator's control
# endpoint requires credentials.
http() ( # METHOD HOST:PORT PATH [BODY [HEADER]]
  body=${4:-} authorization=${5:+$5$'\r\n'}
  [[ $3 != /_sim/* ]] || authorization="Authorization: Basic $(printf '%s' "$BK_APP_CODE:$BK_APP_SECRET" | base64)"$'\r\n'
  exec 2>/dev/null 3<>"/dev/tcp/${2%:*}/${2##*:}" || exit 1
  printf '%s %s HTTP/1.0\r\nHost: %s\r\n%sContent-Length: %d\r\n\r\n%s' "$1" "$3" "$2" "$authorization" "${#body}" "$body" >&3
  IFS= read -r -t 10 line <&3 && [[ $line == *' 200 '* ]] || exit 1
  while IFS= read -r -t 10 line <&3 && [[ $line != $'\r' ]]; do :; done
  while IFS= read -r -t 10 line <&3; do printf '%s\n' "$line"; done
)

# gone says whether a process has ended. That includes a process that its parent
# has not collected yet, though kill -0 finds it.
gone() { # PID
  local stat
  kill -0 "$1" 2>/dev/null || return 0
  # $(<file) would set off the ERR trap, even here, if the process goes in between.
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
  [[ ${stat##*) } == [ZX]* ]]
}

# eventually repeats a command until it succeeds.
eventually() { # SECONDS COMMAND...
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    [[ $SECONDS -lt $deadline ]] || return 1
    sleep 0.1
  done
}

# service_pid asks the service itself.
service_pid() { # IP
  local answer
  answer=$(http GET "$1:$port" /) || return 1
  [[ $answer =~ pid\ ([0-9]+) ]] || return 1
  printf '%s\n' "${BASH_REMATCH[1]}"
}

other_pid_answers() { # IP PID
  local pid
  pid=$(service_pid "$1") && [[ $pid != "$2" ]]
}

listens() { (exec 3<>"/dev/tcp/$1/$port") 2>/dev/null; } # IP

# filed_pids are those in the pid files.
filed_pids() {
  local file pid
  for file in "$work"/hosts/*/opt/web/web.pid; do
    ! { read -r pid <"$file"; } 2>/dev/null || printf '%s\n' "$pid"
  done
}

# services_gone checks every pid that was seen or recorded, and the ports.
services_gone() {
  local pid ip
  for pid in ${seen_pids[@]+"${seen_pids[@]}"} $(filed_pids); do
    gone "$pid" || return 1
  done
  for ip in "${hosts[@]}"; do
    ! listens "$ip" || return 1
  done
}

# hosted_count is the number of hosts on which the platform hosts a process.
hosted_count() {
  local line count=0
  while IFS= read -r line; do
    [[ $line != *'"hosted": true'* ]] || count=$((count + 1))
  done < <(http GET "$sim" /_sim/processes)
  printf '%d\n' "$count"
}

# changing_calls prints which changes were asked of the platform, from the
# simulator's log after the given number of lines. op=2 is a query.
changing_calls() { # LINES
  local line=0 call
  while read -r _ call; do
    line=$((line + 1))
    [[ $line -le $1 || $call =~ ^(get_|sync_|operate_[^ ]*\ op=2\ ) ]] || printf '%s\n' "$call"
  done <"$work/simulator.log"
}

# --- The end ---------------------------------------------------------------

# end asks a process to end, asks a second time, and then kills it. Terraform
# ends at once when asked a second time.
end() { # PID
  local signal
  for signal in TERM TERM KILL; do
    kill -s "$signal" "$1" 2>/dev/null || return 0
    ! eventually 5 gone "$1" || return 0
  done
  return 1
}

end_services() {
  local pid
  services_gone && return 0 # a bare return in a trap means the status before it
  for pid in $(filed_pids); do kill -9 "$pid" 2>/dev/null; done
  services_gone
}

# cleanup leaves nothing behind, however the demo ended. It ends the simulator
# before the services, because the simulator revives what dies.
cleanup() {
  local code=$?
  trap - EXIT ERR
  trap '' INT TERM HUP
  set +e
  cd /
  [[ -z $tf_pid ]] || end "$tf_pid"
  [[ -z $sim_pid ]] || end "$sim_pid" || { printf '✘ the simulator (pid %d) cannot be ended\n' "$sim_pid" >&2; code=1; }
  [[ -z $port ]] || eventually 5 end_services || { printf '✘ a service cannot be ended: pid %s\n' "$(filed_pids)" >&2; code=1; }
  if [[ -n $work && -n ${DEMO_KEEP:-} ]]; then
    printf '\nKept: %s\n' "$work"
  elif [[ -n $work ]]; then
    rm -rf "$work"
  fi
  exit "$code"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
trap 'fail "${BASH_SOURCE[0]##*/} line $LINENO: $BASH_COMMAND"' ERR

# --- The beginning ---------------------------------------------------------

# set_face chooses the configuration, and what another user does to the process.
set_face() { # DIRECTORY OF THE DEMO, FACE
  config=$1/main.tf
  act='{"action":"unregister","host":"0:127.0.0.3","namespace":"demo","name":"web"}'
  case $2 in
    esb | apigw) ;;
    job) # which knows a process by its path, and has no registration besides hosting
      config=$1/job/main.tf
      act='{"action":"unhost","host":"0:127.0.0.3","namespace":"job","name":"/opt/web/web"}'
      ;;
    *) fail "FACE=$2 is not known; it is esb, apigw or job" ;;
  esac
}

# set_stage builds the programs and puts everything into a new directory.
set_stage() { # DIRECTORY OF THE DEMO
  local demo=$1 name tool version
  for tool in go "$CLI"; do
    command -v "$tool" >/dev/null || fail "$tool is not in PATH; the demo needs Go, and Terraform or OpenTofu (CLI=tofu)"
  done
  CLI=$(command -v "$CLI")
  [[ $CLI == /* ]] || CLI=$PWD/$CLI

  # Settings for other work must not affect the demo.
  for name in "${!TF_@}" "${!BK_@}"; do unset "$name"; done
  export CHECKPOINT_DISABLE=1

  work=$(mktemp -d "${TMPDIR:-/tmp}/bk-demo.XXXXXX")
  out=$work/last-output
  version=$("$CLI" version)
  printf '%s, in %s\n' "${version%%$'\n'*}" "$work"
  printf 'Building the provider, the simulator and a small web service ...\n'
  mkdir "$work/bin"
  build "$demo/../.." || fail 'it does not build'
  SECONDS=0

  install_provider
  install_service "$demo/service"
  mkdir "$work/tf"
  cp "$config" "$work/tf"
  cd "$work/tf" || exit
}

build() ( # ROOT OF THE REPOSITORY
  cd "$1" && export CGO_ENABLED=0 &&
    go build -o "$work/bin/terraform-provider-bk" . &&
    go build -o "$work/bin/bk-simulator" ./internal/cmd/bk-simulator &&
    go build -o "$work/bin/web" ./examples/demo/service
)

# install_provider puts the provider where init finds it like any other.
# Terraform and OpenTofu look under the names of different registries.
install_provider() {
  local platform registry package
  platform=$(go env GOOS)_$(go env GOARCH)
  for registry in registry.terraform.io registry.opentofu.org; do
    package=$work/mirror/$registry/blueking/bk/0.0.1/$platform
    mkdir -p "$package"
    ln -s "$work/bin/terraform-provider-bk" "$package/terraform-provider-bk_v0.0.1"
  done
  printf 'provider_installation {\n  filesystem_mirror {\n    path = "%s"\n  }\n}\n' "$work/mirror" >"$work/cli.tfrc"
  export TF_CLI_CONFIG_FILE=$work/cli.tfrc TF_CLI_ARGS=-no-color TF_INPUT=0 TF_IN_AUTOMATION=1
}

# install_service puts the service on every host, and finds a port that is free
# on all of them and below those of outgoing connections.
install_service() { # SCRIPTS
  local ip try
  for ip in "${hosts[@]}"; do
    mkdir -p "$work/hosts/$ip/opt/web"
    cp "$work/bin/web" "$1/start.sh" "$1/stop.sh" "$work/hosts/$ip/opt/web"
  done
  for _ in {1..50}; do
    try=$((20000 + RANDOM % 10000))
    for ip in "${hosts[@]}"; do
      "$work/bin/web" -t -listen "$ip:$try" 2>"$out" || continue 2
    done
    port=$try
    export TF_VAR_port=$port
    return
  done
  [[ $OSTYPE != darwin* ]] || printf 'On macOS, first: sudo ifconfig lo0 alias 127.0.0.2; sudo ifconfig lo0 alias 127.0.0.3\n' >&2
  fail_saying "no port is free on all of ${hosts[*]}"
}

# start_platform starts the simulator, and points the provider at it with the
# line that the simulator prints. Its secret is new each time.
start_platform() { # FACE [FLAG...]
  command_line "\$ bk-simulator -local -root hosts -listen 127.0.0.1:0${2:+ ${*:2}}"
  TMPDIR=$work "$work/bin/bk-simulator" -local -root "$work/hosts" -listen 127.0.0.1:0 "${@:2}" \
    -supervise 200ms >"$work/greeting" 2>"$work/simulator.log" &
  sim_pid=$!
  disown
  eventually 10 grep -q '^export BK_ENDPOINT=' "$work/greeting" || fail "the simulator does not start: $(<"$work/simulator.log")"
  eval "$(grep '^export BK_ENDPOINT=' "$work/greeting")"
  sim=${BK_ENDPOINT#http://}
  quote "$(sed -n 's/^Its page: */Watch it in a browser: /p' "$work/greeting")"
  case $1 in
    esb | job) export BK_GATEWAY=esb ;;
    apigw) export BK_GATEWAY=apigw BK_ENDPOINT=http://$sim/api/bk-gse/prod ;;
  esac
}
