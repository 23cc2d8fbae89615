// Package procapitest is what the tests of the process APIs' clients share. It has a server that
// knows the requests to come, and the answers that any platform may give. It also has ways to end a
// context at a known moment, and hosts by number.
//
// What one API alone says stays with its client: the names and paths of its
// endpoints, its requests, the keys of its results.
//
//	script, url := procapitest.NewScript(t, "/api/c/compapi/v2/gse/%s/",
//		procapitest.Exchange{API: "operate_proc_v2", Reply: procapitest.Data(`{"task_id":"T"}`)},
//		procapitest.Exchange{API: "get_proc_operate_result_v2", Reply: procapitest.Gone},
//	)
//	… // the client is pointed at url
//	script.Requests() // what it sent
//
// It is for tests alone, which a rule of the linter sees to. It knows no client,
// nor procapi itself, whose own tests could not use it otherwise.
package procapitest
