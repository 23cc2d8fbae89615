// Package contract is the wire format between BlueKing and its clients: requests and responses of each
// endpoint and face. The clients' tests and the simulator's tests read the same bodies, so neither side
// can change alone. The package contains only data, and its types do not interpret it.
//
// # Files
//
//	testdata/<face>/<endpoint>/request.json         the first case, as the document shows it
//	testdata/<face>/<endpoint>/response.json
//	testdata/<face>/<endpoint>/request-<name>.json  another case; a body that it lacks
//	testdata/<face>/<endpoint>/response-<name>.json is that of the first
//	testdata/script/read_hosted.sh                  the script for hosts
//	testdata/script/read_hosted.ps1                 and for hosts with Windows
//
// The faces are esb (GSE behind the ESB), apigw (GSE 2.0 behind the API gateway) and job (JOB behind the
// ESB). CMDB behind either is cmdb and cmdb-apigw. Fields that are in a native path of CMDB are not in
// the gateway's bodies. Each body is stored once, except CMDB's responses, which are the same behind both.
//
// # Sources
//
// Most bodies are from the ESB's API documents (TencentBlueKing/legacy-bk-paas, confapis/gse and
// confapis/jobv3, and the same pages in the product documentation): the samples and tables of the endpoint
// that the folder names.
//
//   - esb: every request.json and response.json. The samples of GSE lack the
//     credentials that the common parameters require, so bk_test's were added;
//     operate_proc_v2's lacks op_timeout, which is from its table. request-minimal
//     has only what the tables require.
//   - job: every request.json, request-biz.json and response.json, with
//     credentials. request.json of manage_proc and get_proc_result is the edition with
//     bk_scope_type, request-biz.json the one with bk_biz_id; operate_process has only
//     the latter. manage_proc/request-unregister.json is the sample with op_type 2.
//
// The samples are not JSON, or contradict their tables, in these places:
//
//   - The tables say crontab_rule, the samples crotab_rule.
//   - get_proc_status_v2: a comma was missing behind host. The request's labels,
//     which are optional, were left out.
//   - update_proc_info: a comma was full-width.
//   - sync_proc_status has bk_supplier_id in host and no isauto, also in the table;
//     it is as documented here.
//
// Bodies that no document shows are composed from what public clients send and read:
//
//   - esb/operate_proc_v2/request-host.json, apigw/operate_proc_v2/request.json: hosting, and
//     starting at the gateway, with the resource limits of register_proc_info, as NodeMan and
//     nodemgr send them.
//
//   - esb/get_proc_operate_result_v2: response-queued.json has the code of the
//     document and the message from issues (bk-job 2132, GSEKit 74), response-mixed.json
//     the codes that GSEKit, NodeMan and BSCP distinguish. The contents there and in
//     response-query.json follow BSCP's types.
//
//   - apigw: all of it. Requests are the ESB's of the second generation with
//     agent_id_list in place of hosts, responses the ESB's without result, and rows
//     and contents with bk_agent_id (GSEKit, NodeMan, BSCP, nodemgr). A row of a host
//     that is known only by its agent id has a host without an address, which NodeMan
//     reads and BSCP's type lacks.
//
//   - job/operate_process/request-register.json and request-unregister.json:
//     manage_proc's process with operate_process's fields, for a set of businesses.
//
//   - cmdb, cmdb-apigw: fields and types from the API documents and the public code of
//     CMDB 3.14 (TencentBlueKing/bk-cmdb), with invented values; the documents' samples omit
//     fields that are null. Behind the gateway, response-older.json has the names that CMDB's
//     API server used for codes and messages before it supported gateways.
//     list_process_related_info/request-ignored.json has the filter that is in the document
//     but not in the code. permission is as in src/common/metadata. request-all, -ids,
//     -templates, -modules, -sets, -hosts, -host-ids and -set-ids are the provider's own
//     requests, composed from the same sources.
//
//   - job/get_proc_result/response-queued.json: what JOB's public code returns for
//     GSE's 1000115.
//
//   - apigw/async_execute_script and get_execute_script_result: names from BSCP and nodemgr, with
//     invented values; the entry is from BSCP's tests, as the script prints it, without its secrets.
//
//   - job/fast_execute_script, get_job_instance_status and batch_get_job_instance_ip_log: samples of
//     their documents, with the provider's script. <read_hosted.sh> is its text, also in base64.
//
// # Recorded bodies
//
//	seen/<face>/<endpoint>/asked-<name>.json   a request of another client
//	seen/<face>/<endpoint>/answer-<name>.json  a response to one
//
// These are literal bodies from the public code, tests and logs of NodeMan, nodemgr, BSCP and others,
// beyond the documents. The simulator accepts each request, and the client reads each response. Hosts,
// agent ids and business ids are replaced. Only parts of asked-bscp and asked-sidecar are known: their
// paths and commands are invented. So are the values of async_execute_script, whose names are from the
// source, and the envelope of answer-bare, answer-handling, answer-script and answer-idle.
//
// # What is not included
//
// Bodies of endpoints that other clients use and this provider does not call:
//
//   - Lists of agents (list_agent_state, list_agent_info, get_agent_info,
//     get_agent_status). Each operation reports that an agent is unreachable, at the
//     moment when it matters. A state that was read before is not sufficient, and its
//     numbers mean different things to different clients.
//   - upgrade_to_agent_id, which is called by whoever upgrades agents. A host that changes
//     its name by this call is a rename here, whoever made it.
//   - operate_proc and get_proc_operate_result of the first generation, which know a process
//     only by its name. Their successors know it by its spec.
//   - JOB before scopes (app_id, proc_list). Its response is read as one that names no
//     task, which package job tests: the outcome is unknown, and nothing counts as done.
package contract
