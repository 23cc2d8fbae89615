// Package contract is the wire format between BlueKing and its clients: one request and one answer per
// endpoint and face. The clients' tests and the simulator's tests read the same bodies, so neither side
// can change alone. It contains data only, and its types do not know the content.
//
// # Files
//
//	testdata/<face>/<endpoint>/request.json         the first case, as the document shows it
//	testdata/<face>/<endpoint>/response.json
//	testdata/<face>/<endpoint>/request-<name>.json  another case; what it does not
//	testdata/<face>/<endpoint>/response-<name>.json have it shares with the first
//	testdata/script/read_hosted.sh                  what the platform runs on hosts
//	testdata/script/read_hosted.ps1                 and on hosts of Windows
//
// The faces are esb (GSE behind the ESB), apigw (GSE 2.0 behind the API gateway) and job (JOB behind the
// ESB). CMDB behind either is cmdb and cmdb-apigw. Members that are in a native path of CMDB's are not in
// the gateway's bodies. Each body is stored once, except CMDB's answers, which are the same behind both.
//
// # Sources
//
// The ESB's API documents (TencentBlueKing/legacy-bk-paas, confapis/gse and confapis/jobv3, and the same
// pages in the product documentation). These are the samples and tables of the endpoint that the folder
// names:
//
//   - esb: every request.json and response.json. The samples of GSE have no
//     credentials, which the common parameters want, so bk_test's were put in;
//     operate_proc_v2's has no op_timeout, which is from its table. request-minimal
//     is what the tables require and no more.
//   - job: every request.json, request-biz.json and response.json, credentials
//     included. request.json of manage_proc and get_proc_result is the edition with
//     bk_scope_type, request-biz.json the one with bk_biz_id; operate_process has the
//     latter alone. manage_proc/request-unregister.json is the sample with op_type 2.
//
// The samples are not JSON, or contradict their tables, in these places:
//
//   - crontab_rule is what the tables say and crotab_rule what the samples do.
//   - get_proc_status_v2: a comma was missing behind host. The request's labels,
//     which are optional, were left out.
//   - update_proc_info: a comma was of full width.
//   - sync_proc_status has bk_supplier_id in host and no isauto, in the table as
//     well; it is as documented here.
//
// What no document shows is composed from what public clients send and read:
//
//   - esb/operate_proc_v2/request-host.json, apigw/operate_proc_v2/request.json: hosting, and
//     starting at the gateway, with the resource limits of register_proc_info, as NodeMan and
//     nodemgr send them.
//
//   - esb/get_proc_operate_result_v2: response-queued.json has the code of the
//     document and the words of issues (bk-job 2132, GSEKit 74); response-mixed.json
//     the codes that GSEKit, NodeMan and BSCP tell apart; the contents there and in
//     response-query.json are BSCP's types of them.
//
//   - apigw: all of it. Requests are the ESB's of the second generation with
//     agent_id_list in place of hosts, answers the ESB's without result, and rows
//     and contents with bk_agent_id (GSEKit, NodeMan, BSCP, nodemgr). A row of a host
//     that is known by its agent id alone has a host without an address, which NodeMan
//     reads and BSCP's type leaves out.
//
//   - job/operate_process/request-register.json and request-unregister.json:
//     manage_proc's process with operate_process's fields, for a set of businesses.
//
//   - cmdb, cmdb-apigw: members and types from the API documents and the public code of
//     CMDB 3.14 (TencentBlueKing/bk-cmdb), values made up; a document's samples leave out
//     what is null. Behind the gateway, response-older.json has the names that CMDB's API
//     server gave codes and messages before it knew gateways.
//     list_process_related_info/request-ignored.json has the filter which the document
//     has and the code has not. permission is what src/common/metadata has of it. request-all,
//     -ids, -templates, -modules, -sets, -hosts, -host-ids and -set-ids are the provider's
//     own questions, put together from the same sources.
//
//   - job/get_proc_result/response-queued.json: what JOB's public code makes of
//     GSE's 1000115.
//
//   - apigw/async_execute_script and get_execute_script_result: names from BSCP and nodemgr, values
//     made up; the entry is one of BSCP's tests, without its secrets as the script prints it.
//
//   - job/fast_execute_script, get_job_instance_status and batch_get_job_instance_ip_log: samples of
//     their documents, with the provider's script. <read_hosted.sh> is its text, also in base64.
//
// # Recorded bodies
//
//	seen/<face>/<endpoint>/asked-<name>.json   a request of another client
//	seen/<face>/<endpoint>/answer-<name>.json  an answer to one
//
// These are literal bodies from the public code, tests and logs of NodeMan, nodemgr, BSCP and others,
// beyond what documents say. The simulator accepts each request, and the client reads each answer. Hosts,
// agent ids and business ids are replaced. Of asked-bscp and asked-sidecar only parts are known: their
// paths and commands are made up. So are the values of async_execute_script, whose names are from the
// source, and the envelope of answer-bare, answer-handling, answer-script and answer-idle.
//
// # What is not included
//
// Bodies that other clients know and this provider's clients cannot meet, since they do not call those
// endpoints:
//
//   - Lists of agents (list_agent_state, list_agent_info, get_agent_info,
//     get_agent_status). That an agent is away is an answer of each operation, of the
//     moment in which it matters; a state that was read before proves nothing, and its
//     numbers mean different things to different clients.
//   - upgrade_to_agent_id is asked by whoever upgrades agents. A host that changes its name
//     so is a rename here, whoever asked.
//   - operate_proc and get_proc_operate_result of the first generation know a process by its
//     name alone, and their successors by its spec.
//   - JOB of before scopes (app_id, proc_list). Its answer is read as one that names no
//     task, which package job tests: what was begun so is unknown, and not done.
package contract
