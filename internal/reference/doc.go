// Package reference says which process, on which hosts and run how: the attributes
// that resources, actions and data sources have in common.
//
// For GSE these are meta, hosts and spec (GSEAttributes, GSEModel); for JOB they are
// scope or bk_biz_id, process and hosts (JobAttributes, JobModel). What registers hands
// them on in one value (declaration.go). Both models satisfy
// Model, and Model.Open turns either into a Target, which is all that the packages of
// the resources know of the difference. rollout and timeouts are declared here as well.
//
// An attribute is declared in <attribute>_schema.go and its value read in
// <attribute>_model.go; a small attribute has both in <attribute>.go. Validators that
// serve more than one attribute are in <kind>_validator.go.
package reference
