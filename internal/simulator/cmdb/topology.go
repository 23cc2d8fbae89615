package cmdb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Topology declares the content of CMDB. Names of sets and of hosts may contain ranges, such as
// "gz-[1-20]"; Hosts have a Count. Ids that are 0 are assigned in order, from 1. Fields add members to an
// object as CMDB returns it, or replace them: {"bk_os_type": null}.
type Topology struct {
	Businesses []Business `json:"businesses"`
}

// Business is one business.
type Business struct {
	ID     int64          `json:"id,omitempty"`
	Name   string         `json:"name"`
	Fields map[string]any `json:"fields,omitempty"`
	// NoPermission makes every question about it fail with CodeNoPermission.
	NoPermission bool `json:"no_permission,omitempty"`
	// Levels are the models of the levels between business and set, top down.
	Levels    []string   `json:"levels,omitempty"`
	Templates []Template `json:"templates,omitempty"`
	Sets      []Set      `json:"sets,omitempty"`
	// Idle are hosts in the built-in module of idle hosts.
	Idle    []Hosts  `json:"idle,omitempty"`
	Groups  []Group  `json:"groups,omitempty"`
	Orphans []Orphan `json:"orphans,omitempty"`
}

// Template is a service template: modules made from it have its processes.
type Template struct {
	ID        int64            `json:"id,omitempty"`
	Name      string           `json:"name"`
	Processes []map[string]any `json:"processes,omitempty"`
}

// Set is a set, or many if its name contains a range.
type Set struct {
	ID   int64  `json:"id,omitempty"`
	Name string `json:"name"`
	// Env is "1" for test, "2" for experience and "3", the default, for production.
	Env    string         `json:"env,omitempty"`
	Fields map[string]any `json:"fields,omitempty"`
	// Under names the instances of the business's Levels above it, top down.
	Under   []string `json:"under,omitempty"`
	Modules []Module `json:"modules,omitempty"`
}

// Module is a module of a set. Each of its hosts has a service instance there if it has a Template or
// Processes, even an empty list.
type Module struct {
	ID        int64            `json:"id,omitempty"`
	Name      string           `json:"name"`
	Fields    map[string]any   `json:"fields,omitempty"`
	Template  string           `json:"template,omitempty"`
	Processes []map[string]any `json:"processes,omitempty"`
	Hosts     []Hosts          `json:"hosts,omitempty"`
	// Shares are hosts that other modules declare, as "cloud:ip" or an agent id.
	Shares []string `json:"shares,omitempty"`
}

// Hosts are hosts with consecutive addresses. In a module of many sets, they continue from set to set.
type Hosts struct {
	Count int   `json:"count,omitempty"` // 1 if 0
	ID    int64 `json:"id,omitempty"`    // of the first host
	Cloud int64 `json:"cloud,omitempty"`
	// IP is the inner address of the first host, IPv4 or IPv6. Without it the hosts have none.
	IP string `json:"ip,omitempty"`
	// Name is bk_host_name. If it has a range, each host gets the next name of it.
	Name string `json:"name,omitempty"`
	// AgentID is the agent id of a single host. By default it is made from the host id.
	AgentID string `json:"agent_id,omitempty"`
	NoAgent bool   `json:"no_agent,omitempty"`
	// Fields may replace bk_host_innerip ("10.0.0.1,10.1.0.1"), bk_addressing and others.
	Fields map[string]any `json:"fields,omitempty"`
	// Labels are those of their service instances.
	Labels map[string]string `json:"labels,omitempty"`
	// NoInstance leaves out their service instances.
	NoInstance bool `json:"no_instance,omitempty"`
}

// Group is a dynamic group, of hosts or of sets.
type Group struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name"`
	Object string `json:"object"` // "host" or "set"
	// Conditions must all be true, for a host and for one module and set that it is in.
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is about one field of a host, module or set.
type Condition struct {
	Object   string `json:"bk_obj_id"`
	Field    string `json:"field"`
	Operator string `json:"operator"` // $eq, $ne, $in, $nin or $regex
	Value    any    `json:"value"`
}

// Orphan is a service instance whose module was deleted.
type Orphan struct {
	Host      string           `json:"host"` // "cloud:ip" or an agent id
	Processes []map[string]any `json:"processes"`
}

// ParseTopology reads a topology from JSON. It rejects unknown members, so that a misspelt one is
// noticed.
func ParseTopology(data []byte) (*Topology, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	var topology Topology
	if err := dec.Decode(&topology); err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("topology: more than one JSON document")
	}
	if _, err := New(topology); err != nil {
		return nil, err
	}
	return &topology, nil
}
