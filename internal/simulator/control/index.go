package control

// index is the answer to GET /_sim/. $SIM is replaced by the server's own URL.
const index = `bk-simulator: BlueKing's process service on one machine

GSE behind the ESB is at $SIM/api/c/compapi/v2/gse/<name>/, GSE behind the API
gateway at $SIM/api/bk-gse/prod/api/v2/proc/<name> (any prefix will do), JOB at
$SIM/api/c/compapi/v2/jobv3/<name>/ and .../job/<name>/, and CMDB behind the ESB at
$SIM/api/c/compapi/v2/cc/<name>/ and behind the gateway at
$SIM/api/bk-cmdb/prod/api/v3/<path>, all by POST.
The commands below control the simulator itself. If the secret is not the default
one, they need the credentials from the export line that the simulator printed. The
simulator answers this machine only, and no web page but its own at $SIM/.

LOOK

  Processes: what is registered, hosted, running, and with which spec
    curl -s $SIM/_sim/processes

  Calls: every request so far, without its secrets; or one with both bodies
    curl -s $SIM/_sim/calls
    curl -s "$SIM/_sim/calls?seq=1"
    curl -s -X DELETE $SIM/_sim/calls

  Executions: each operation that reached a host, with its result there
    curl -s $SIM/_sim/executions

  Machines: the real state of each, the names under which it is registered, and how
  often an operation of one task reached its agent
    curl -s $SIM/_sim/machines

  The file in which a host's agent keeps what it hosts, with its secrets; empty if
  there is no such file
    curl -s "$SIM/_sim/proc_file?host=0:10.0.0.1"

  Tasks: when each was accepted and settled, and how often it was polled
    curl -s $SIM/_sim/tasks

  CMDB: the hosts of each module
    curl -s $SIM/_sim/cmdb

  Violations: what no document allows in the requests, refused or not
    curl -s $SIM/_sim/violations
    curl -s -X DELETE $SIM/_sim/violations

  All of this live in a browser: $SIM/, which reads
    curl -sN $SIM/_sim/stream

  The scenario (-scenario): its steps, and how many are done; and the next one, now
    curl -s $SIM/_sim/scenario
    curl -s -X POST $SIM/_sim/scenario

ACT AS ANOTHER USER

  The process dies (and is restarted if it is hosted)
    curl -s $SIM/_sim/act -d '{"action":"kill","host":"0:10.0.0.1","namespace":"web","name":"nginx"}'

  A colleague stops it, unhosts it, unregisters it, hosts it, starts it
    the same with "stop", "unhost", "unregister", "host", "start"; with "hosts" for several

  A colleague registers it (with another spec or other labels, or without a spec)
    curl -s $SIM/_sim/act -d '{"action":"register","host":"0:10.0.0.1","namespace":"web","name":"nginx","labels":{},"spec":{}}'

  A colleague upgrades a host to its agent id, so that both names have one registration
  (with the address as the agent id: undoes that)
    curl -s $SIM/_sim/act -d '{"action":"upgrade","host":"0:10.0.0.1","agent_id":"0200000007525400f355781710390005465c"}'

  A colleague changes the agent's file by hand: members of an entry (null removes one,
  and the next operation that writes the entry undoes it), an entry that the platform
  does not know, or the whole file
    curl -s $SIM/_sim/act -d '{"action":"edit_entry","host":"0:10.0.0.1","namespace":"web","name":"nginx","fields":{"stopCmd":"./stop.sh -9","memlmt":50}}'
    curl -s $SIM/_sim/act -d '{"action":"add_entry","host":"0:10.0.0.1","entry":{"valuekey":"web:old","contact":"web","pidPath":"/run/nginx.pid"}}'
    curl -s $SIM/_sim/act -d '{"action":"proc_file","host":"0:10.0.0.1","file":{"text":"command not found"}}'

  The agent's file is unusual (ODD-FILES),
  or at another path, or again as agents write it
    curl -s $SIM/_sim/act -d '{"action":"proc_file","host":"0:10.0.0.1","file":{"odd":"truncated"}}'
    curl -s $SIM/_sim/act -d '{"action":"proc_file","host":"0:10.0.0.1","file":{"path":"/usr/local/gse2_cloud/agent/etc/.proc"}}'
    curl -s $SIM/_sim/act -d '{"action":"proc_file","host":"0:10.0.0.1","file":{}}'

  The platform forgets a task's result
    curl -s $SIM/_sim/act -d '{"action":"expire","task_id":"GSETASK:S:20240101000000.000000:1"}'

  A host has an agent id too (declare it before the first operation on the host)
    curl -s -X PUT $SIM/_sim/agents -d '{"host":"0:10.0.0.1","agent_id":"0200000007525400f355781710390005465c"}'

  CMDB gains hosts in business/set/module, shares one with a further module, or loses
  one, which the process service still knows
    curl -s $SIM/_sim/cmdb -d '{"action":"add","module":"shop/gz-1/nginx","hosts":{"count":2,"ip":"10.0.9.1"}}'
    curl -s $SIM/_sim/cmdb -d '{"action":"share","module":"shop/gz-1/nginx","host":"0:10.0.9.1"}'
    curl -s $SIM/_sim/cmdb -d '{"action":"remove","host":"0:10.0.9.1"}'

  A module of CMDB is emptied
    curl -s $SIM/_sim/cmdb -d '{"action":"empty","module":"shop/gz-1/nginx"}'

  A colleague changes fields in CMDB: of a host, or of a module's processes of one name
    curl -s $SIM/_sim/cmdb -d '{"action":"change_host","host":"0:10.0.9.1","fields":{"bk_os_type":null}}'
    curl -s $SIM/_sim/cmdb -d '{"action":"change_process","module":"shop/gz-1/nginx","process":"nginx","fields":{"proc_num":2}}'

  A host's agent is disconnected, and reconnected
    curl -s -X PUT $SIM/_sim/agents -d '{"host":"0:10.0.0.1","reachable":false}'
    curl -s -X PUT $SIM/_sim/agents -d '{"host":"0:10.0.0.1","reachable":true}'

  The cached status is frozen, and live again (queries, op 2, always are)
    curl -s $SIM/_sim/status -d '{"frozen":true}'
    curl -s $SIM/_sim/status -d '{"frozen":false}'

  The cached status lags: three answers after each change, or always by one change
    curl -s $SIM/_sim/status -d '{"lag":3}'
    curl -s $SIM/_sim/status -d '{"lag":-1}'
    curl -s $SIM/_sim/status -d '{"lag":0}'

  The cached status lacks the rows of some hosts
    curl -s $SIM/_sim/faults -d '{"api":"*_proc_status*","hosts":["0:10.0.0.1"],"missing":-1}'

  The platform adds labels of its own to every row
    curl -s $SIM/_sim/status -d '{"labels":{"bk_obj_id":"host"}}'

  One round of supervision, now
    curl -s -X POST $SIM/_sim/tick

FAULTS

  A process of JOB has the namespace "job" and its key as its name: value_key or
  setup_path/proc_name. Wherever a host is named, an agent id will do.

  A fault matches by "api", "op", "hosts", "namespace", "name" (all optional),
  from the match after "skip", for "times" matches (0: always). List, and undo:
    curl -s $SIM/_sim/faults
    curl -s -X DELETE $SIM/_sim/faults
    curl -s -X DELETE "$SIM/_sim/faults?id=1"

  The task is queued for three polls (-1: for ever)
    curl -s $SIM/_sim/faults -d '{"queued":3}'

  A host is in progress for two polls, or left out of two answers
    curl -s $SIM/_sim/faults -d '{"hosts":["0:10.0.0.1"],"pending":2}'
    curl -s $SIM/_sim/faults -d '{"hosts":["0:10.0.0.1"],"missing":2}'

  A host fails; with "apply" the operation takes effect all the same
    curl -s $SIM/_sim/faults -d '{"hosts":["0:10.0.0.1"],"op":0,"code":65535,"message":"no such file","times":1}'
    curl -s $SIM/_sim/faults -d '{"op":0,"code":836,"apply":true}'
    curl -s $SIM/_sim/faults -d '{"op":0,"code":65535,"still_hosts":true}'   (the start fails, and the process is hosted all the same)
    curl -s $SIM/_sim/faults -d '{"command":"v2","dies":2,"revived":true}'   (a process of a bad release dies and is restarted, again and again)

  A virtual host runs no command, so its health_cmd prints nothing. After this it prints ok
  once the process was started or restarted
    curl -s $SIM/_sim/faults -d '{"api":"operate_*","health":"ok"}'

  A host's agent does not answer: 117 at once, or 115 for ever
    curl -s $SIM/_sim/faults -d '{"hosts":["0:10.0.0.1"],"unreachable":"117"}'
    curl -s $SIM/_sim/faults -d '{"hosts":["0:10.0.0.1"],"unreachable":"pending"}'

  A script runs for three polls, or does not finish: the agent restarted (6; 3 is a timeout,
  4 a stop), or has lost the task
    curl -s $SIM/_sim/faults -d '{"api":"async_execute_script","hosts":["0:10.0.0.1"],"pending":3}'
    curl -s $SIM/_sim/faults -d '{"api":"async_execute_script","hosts":["0:10.0.0.1"],"pending":1,"script_status":6}'
    curl -s $SIM/_sim/faults -d '{"api":"async_execute_script","hosts":["0:10.0.0.1"],"pending":1,"code":-1,"message":"no such task"}'

  The gateway has no script API (JOB's is fast_execute_script)
    curl -s $SIM/_sim/faults -d '{"api":"*_execute_script*","http_status":404,"body":"{\"code\":1640401,\"code_name\":\"API_NOT_FOUND\",\"message\":\"API not found\",\"data\":null,\"result\":false}"}'

  Operations take five seconds
    curl -s $SIM/_sim/faults -d '{"api":"operate_*","takes":"5s"}'

  A gateway fails, or asks for a pause
    curl -s $SIM/_sim/faults -d '{"http_status":502,"body":"<html>bad gateway</html>","times":1}'
    curl -s $SIM/_sim/faults -d '{"http_status":429,"header":{"Retry-After":"1"},"times":1}'

  The gateway knows the application, but denies it this API
    curl -s $SIM/_sim/faults -d '{"http_status":403,"body":"{\"code\":1640301,\"code_name\":\"APP_NO_PERMISSION\",\"message\":\"App has no permission to the resource\",\"data\":null,\"result\":false}"}'

  The platform refuses (a 200 with result false)
    curl -s $SIM/_sim/faults -d '{"envelope_code":1306201,"envelope_message":"third-party error","times":1}'

  The answer is lost: "before" or "after" processing, or "mid" of it, or by a "reset"
    curl -s $SIM/_sim/faults -d '{"api":"operate_proc_v2","drop":"after","times":1}'

  The answer is late: before or after processing, or byte by byte
    curl -s $SIM/_sim/faults -d '{"delay":"2s"}'
    curl -s $SIM/_sim/faults -d '{"delay":"50ms","delay_max":"500ms"}'
    curl -s $SIM/_sim/faults -d '{"stall":"2s"}'
    curl -s $SIM/_sim/faults -d '{"drip":"1s"}'

  The answer is huge, or in reverse order, or has another type than documented
    curl -s $SIM/_sim/faults -d '{"http_status":200,"body":" ","body_bytes":1073741824}'
    curl -s $SIM/_sim/faults -d '{"backwards":true}'
    curl -s $SIM/_sim/faults -d '{"replace":{"data/*/error_code":"zero"}}'

  Any of these applies at random, here to one request in twenty
    curl -s $SIM/_sim/faults -d '{"chance":0.05,"http_status":502}'

  A page of a CMDB list repeats the previous one, or is short, empty, larger than requested,
  in another order, or unfiltered; a page fails; the count is wrong
    curl -s $SIM/_sim/faults -d '{"api":"list_biz_hosts","page":"repeat","skip":1,"times":1}'   (or shrink, empty, larger, shuffled, unfiltered)
    curl -s $SIM/_sim/faults -d '{"api":"list_biz_hosts","start":500,"http_status":502}'
    curl -s $SIM/_sim/faults -d '{"api":"list_*","count_off":-1}'

  CMDB does not let the application read a business
    curl -s $SIM/_sim/faults -d '{"api":"list_biz_hosts","envelope_code":9900403,"envelope_message":"no permission","envelope":{"permission":{"system_id":"bk_cmdb","actions":[]}}}'

  The answer has an unusual form
    curl -s $SIM/_sim/faults -d '{"extra_keys":{"0:10.9.9.9:web:nginx":{"error_code":0,"error_msg":"","content":""}}}'
    curl -s $SIM/_sim/faults -d '{"first_keys":{"0:10.0.0.1:web:nginx":{"error_code":115,"error_msg":"","content":""}}}'   (a key that occurs twice)
    curl -s $SIM/_sim/faults -d '{"spelling":"errcode"}'
    curl -s $SIM/_sim/faults -d '{"envelope":{"code":"00","result":null}}'
    curl -s $SIM/_sim/faults -d '{"content_shape":"object"}'   (or null, broken, empty, no-instance, no-isauto)
    curl -s $SIM/_sim/faults -d '{"keys":"supplier"}'   (at the ESB: cloud:supplier:ip; or no-supplier: cloud:ip)
    curl -s $SIM/_sim/faults -d '{"keys":"address"}'   (at the gateway, for an agent id: cloud:ip; or agent, the other way round)
    curl -s $SIM/_sim/faults -d '{"rows":"agent"}'   (at the gateway, rows by agent id alone; or host, both, none)
    curl -s $SIM/_sim/faults -d '{"keys":"host-first"}'   (JOB: cloud:ip:value_key; or path, whatever the value_key)
    curl -s $SIM/_sim/faults -d '{"api":"get_proc_result","job_status":115}'   (JOB: beside hosts that have finished)
    curl -s $SIM/_sim/faults -d '{"api":"operate_*","task_id":""}'
`
