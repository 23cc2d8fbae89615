// Package procapitest is what the tests of the process APIs' clients share. It has a server with a script
// of expected requests, and answers that any platform may give. It also has ways to end a context at a
// known moment, and hosts by number.
//
// What belongs to one API stays with its client: the names and paths of its endpoints, its requests, the
// keys of its results.
//
//	script, url := procapitest.NewScript(t, "/api/c/compapi/v2/gse/%s/",
//		procapitest.Exchange{API: "operate_proc_v2", Reply: procapitest.Data(`{"task_id":"T"}`)},
//		procapitest.Exchange{API: "get_proc_operate_result_v2", Reply: procapitest.Gone},
//	)
//	… // the client is pointed at url
//	script.Requests() // what it sent
//
// Only tests may import it, which a linter checks. It imports no client, nor procapi itself, so that
// procapi's own tests can use it.
package procapitest
