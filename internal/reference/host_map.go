package reference

import (
	"github.com/hashicorp/terraform-plugin-framework/provider"

	"github.com/blueking/terraform-provider-bk/internal/fold"
)

// HostMap is the hosts attribute: host addresses by host key. How it travels through
// the framework is for this package to know, and nobody above it.
type HostMap = fold.Map

// NewHostMap is the attribute with these addresses. A nil map is an empty one.
func NewHostMap(addresses map[string]string) HostMap { return fold.NewMap(addresses) }

// Server answers Terraform as the framework does.
type Server = fold.Framework

// NewServer serves a provider whose schemas have a [HostMap].
func NewServer(p provider.Provider) Server { return fold.NewServer(p) }
