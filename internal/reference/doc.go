// Package reference declares and reads the attributes that resources, actions and data sources share:
// which process runs on which hosts, and how.
//
// For GSE these are meta, hosts and spec (GSEAttributes, GSEModel); for JOB they are scope or bk_biz_id,
// process and hosts (JobAttributes, JobModel). A resource that registers also exports them as one value
// (declaration.go). Both models implement Model. Model.Open turns either into a Target, so the packages of
// the resources need not know the API. rollout and timeouts are declared here as well.
//
// An attribute is declared in <attribute>_schema.go and its value read in
// <attribute>_model.go; a small attribute has both in <attribute>.go. Validators that
// serve more than one attribute are in <kind>_validator.go.
package reference
