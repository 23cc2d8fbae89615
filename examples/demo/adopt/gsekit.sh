# shellcheck shell=bash
# GSEKit as the platform sees it: it asks CMDB where a process is, and has GSE start it
# there, which also hosts it. Source stage.sh first.

namespace=GSEKIT_BIZ_3

# gsekit_hosts prints the hosts of a process, each as address/agent id.
gsekit_hosts() { # FACE PROCESS
  local answer row
  answer=$(platform "$1" list_process_related_info "{\"bk_biz_id\":3,\"fields\":[\"bk_process_name\"],\"page\":{\"start\":0,\"limit\":500,\"sort\":\"bk_process_id\"},$(
  )\"process_property_filter\":{\"condition\":\"AND\",\"rules\":[{\"field\":\"bk_process_name\",\"operator\":\"equal\",\"value\":\"$2\"}]}}") || return 1
  while IFS= read -r row; do
    [[ $row =~ \"bk_agent_id\":\"([^\"]*)\".*\"bk_host_innerip\":\"([^\"]*)\" ]] && printf '%s/%s\n' "${BASH_REMATCH[2]}" "${BASH_REMATCH[1]}"
  done < <(grep -oE '"bk_agent_id":[^}]*' <<<"$answer")
}

# gsekit_start starts one instance of a process on hosts, all in one task, and waits
# for each of them.
gsekit_start() { # FACE PROCESS INSTANCE HOST...
  local answer
  answer=$(platform "$1" operate_proc_multi "{\"proc_operate_req\":[{\"op_type\":0,\"spec\":$(spec_of "$2" "$3"),$(selector "$1" "${@:4}"),$(
  )\"meta\":{\"namespace\":\"$namespace\",\"name\":\"$2_$3\",\"labels\":{\"bk_process_name\":\"$2\"}}}]}") || return 1
  [[ $answer =~ \"task_id\":\"([^\"]+)\" ]] || return 1
  eventually 30 gsekit_started "$1" "${BASH_REMATCH[1]}" $(($# - 3))
}

# spec_of is what GSEKit makes of a process in CMDB, once its templates are filled in.
spec_of() { # PROCESS INSTANCE
  local identity control secs=5
  case $1 in
    web)
      identity='"setup_path":"/opt/web","pid_path":"/opt/web/web.pid","user":"web"' secs=1
      control="\"start_cmd\":\"./start.sh $port\",\"stop_cmd\":\"./stop.sh\",\"restart_cmd\":\"\",\"reload_cmd\":\"\",\"kill_cmd\":\"kill -9 \$(cat web.pid)\""
      ;;
    gateway)
      identity='"setup_path":"/opt/gateway","pid_path":"/run/gateway.pid","user":"shop"'
      control='"start_cmd":"./start.sh","stop_cmd":"./stop.sh","restart_cmd":"","reload_cmd":"./reload.sh","kill_cmd":"./kill.sh"'
      ;;
    worker)
      identity="\"setup_path\":\"/opt/worker\",\"pid_path\":\"/run/worker_$2.pid\",\"user\":\"shop\""
      control="\"start_cmd\":\"./start.sh $2\",\"stop_cmd\":\"./stop.sh $2\",\"restart_cmd\":\"\",\"reload_cmd\":\"\",\"kill_cmd\":\"./kill.sh $2\""
      ;;
  esac
  printf '{"identity":{"index_key":"","proc_name":"%s",%s},"control":{%s,"version_cmd":"","health_cmd":""},' "$1" "$identity" "$control"
  printf '"alive_monitor_policy":{"auto_type":1,"start_check_secs":%d,"op_timeout":60}}' "$secs"
}

# gsekit_started says whether the given number of hosts have succeeded.
gsekit_started() { # FACE TASK COUNT
  local answer
  answer=$(platform "$1" get_proc_operate_result_v2 "{\"task_id\":\"$2\"}") || return 1
  [[ $(grep -o '"error_code":0,' <<<"$answer" | wc -l) -eq $3 ]]
}

# selector names hosts as a face does, by address or by agent id. A host here is both,
# separated by a slash.
selector() { # FACE HOST...
  local list='' host
  for host in "${@:2}"; do
    case $1 in
      esb) list+=",{\"ip\":\"${host%/*}\",\"bk_cloud_id\":0}" ;;
      apigw) list+=",\"${host#*/}\"" ;;
    esac
  done
  case $1 in
    esb) printf '"hosts":[%s]' "${list#,}" ;;
    apigw) printf '"agent_id_list":[%s]' "${list#,}" ;;
  esac
}

# platform calls an API, with the application's credentials where the face expects them.
platform() { # FACE API BODY
  local path=/api/bk-gse/prod/api/v2/proc/$2 system=gse
  [[ $2 != list_process_related_info ]] || path=/api/bk-cmdb/prod/api/v3/findmany/proc/process_related_info/biz/3 system=cc
  local credentials="\"bk_app_code\":\"$BK_APP_CODE\",\"bk_app_secret\":\"$BK_APP_SECRET\",\"bk_username\":\"admin\""
  case $1 in
    esb) http POST "$sim" "/api/c/compapi/v2/$system/$2/" "{$credentials,${3#\{}" ;;
    apigw) http POST "$sim" "$path" "$3" "X-Bkapi-Authorization: {$credentials}" ;;
  esac
}
