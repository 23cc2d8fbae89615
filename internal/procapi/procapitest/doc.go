// Package procapitest is shared by the tests of the clients of the process APIs. It has a server that follows a
// script of expected requests, and answers that any platform may give. It also has ways to end a context at a
// known moment, and hosts by number.
//
// What belongs to one API stays with its client: the names and paths of its endpoints, its requests, and the
// keys of its results.
//
//	script, url := procapitest.NewScript(t, "/api/c/compapi/v2/gse/%s/",
//		procapitest.Exchange{API: "operate_proc_v2", Reply: procapitest.Data(`{"task_id":"T"}`)},
//		procapitest.Exchange{API: "get_proc_operate_result_v2", Reply: procapitest.Gone},
//	)
//	… // point the client at url
//	script.Requests() // returns what it sent
//
// Only tests may import it, which a linter checks. It imports no client, and not procapi either, so that
// procapi's own tests can use it.
package procapitest
