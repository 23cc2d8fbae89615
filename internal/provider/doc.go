// Package provider is the Terraform side of the bk provider, and nothing else:
// schemas, models, plan logic, state and diagnostics. What is true of a fleet
// whichever API reaches it is in package fleet, what the platform's APIs look
// like in package gse, and how a request gets there in package bkapi.
//
// Files are named noun first: hosted_process_resource.go holds the resource's
// life, hosted_process_model.go its values, hosted_process_plan.go what a plan
// shows. Only diagnostics.go and the diagnostics_*.go files turn what the clients
// return into diagnostics; a check of a configuration speaks for itself.
package provider
