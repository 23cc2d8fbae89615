package inventory

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/bkapi"
	"github.com/blueking/terraform-provider-bk/internal/reference"
)

// namingModel is how hosts are named, and how many there must be.
type namingModel struct {
	Address  types.String `tfsdk:"address"`
	Key      types.String `tfsdk:"key"`
	MinHosts types.Int64  `tfsdk:"min_hosts"`
}

// Defaults of unset attributes: the schema of a data source has none.
const (
	defaultKey      = "{bk_host_innerip}"
	defaultMinHosts = 1
)

// addNamingAttributes declares the attributes of namingModel.
func addNamingAttributes(attributes map[string]schema.Attribute) {
	attributes["address"] = schema.StringAttribute{
		MarkdownDescription: "What hosts are addressed by. `" + byAgentID + "`: their agent ids. `" + byIP + "`: cloud area and first inner address. `" + byEither +
			"`: the agent id where the platform takes it, which only the API gateway does, else the address. Defaults to `" + byEither + "`. A host without it is an error.",
		Optional:   true,
		Validators: []validator.String{stringvalidator.OneOf(byEither, byAgentID, byIP)},
	}
	attributes["key"] = schema.StringAttribute{
		MarkdownDescription: "Host key: text with fields of CMDB in braces, " + keyFieldList() + ". Defaults to `" + defaultKey +
			"`. Two hosts with one key are an error that names both.",
		Optional:   true,
		Validators: []validator.String{keyValidator{}},
	}
	attributes["min_hosts"] = schema.Int64Attribute{
		CustomType: reference.WholeNumber{},
		MarkdownDescription: fmt.Sprintf("Number of hosts that there must be at least. Fewer are an error, so that a module that was emptied, or a wrong scope, "+
			"does not make a plan that removes everything. Defaults to `%d`; `0` allows none.", defaultMinHosts),
		Optional:   true,
		Validators: []validator.Int64{int64validator.AtLeast(0)},
	}
}

// naming returns how hosts are named, with the defaults. The key has been checked.
func (m *namingModel) naming(gateway bkapi.Gateway) naming {
	named := naming{by: byEither, agents: gateway == bkapi.APIGW}
	if !m.Address.IsNull() {
		named.by = m.Address.ValueString()
	}
	text := defaultKey
	if !m.Key.IsNull() {
		text = m.Key.ValueString()
	}
	named.key, _ = parseKey(text)
	return named
}

// least returns how many hosts there must be.
func (m *namingModel) least() int64 {
	if m.MinHosts.IsNull() {
		return defaultMinHosts
	}
	return m.MinHosts.ValueInt64()
}
