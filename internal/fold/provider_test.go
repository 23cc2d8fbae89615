package fold

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	datasourceschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	resourceschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// testProvider has folded and ordinary attributes called hosts, and a folded one with another name.
type testProvider struct{ resource testResource }

func (testProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "x"
}
func (testProvider) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}
func (testProvider) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}

func (p testProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return p.resource }}
}

func (testProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{func() datasource.DataSource { return testDataSource{} }}
}

// testResource is at version 3 of its schema.
type testResource struct {
	more map[string]resourceschema.Attribute
}

func (testResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_process"
}

func (r testResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = resourceschema.Schema{Version: 3, Attributes: map[string]resourceschema.Attribute{
		"hosts":  resourceschema.StringAttribute{CustomType: Type{}, Required: true},
		"spare":  resourceschema.StringAttribute{CustomType: Type{}, Optional: true},
		"labels": resourceschema.MapAttribute{ElementType: types.StringType, Optional: true},
	}}
	for name, attribute := range r.more {
		resp.Schema.Attributes[name] = attribute
	}
}

func (testResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var model testModel
	resp.Diagnostics.Append(req.State.Get(ctx, &model)...)
	model.Hosts = kept(maps.Collect(model.Hosts.Known())["kept"])
	resp.Diagnostics.Append(resp.State.Set(ctx, model)...)
}

func (testResource) Create(context.Context, resource.CreateRequest, *resource.CreateResponse) {}
func (testResource) Update(context.Context, resource.UpdateRequest, *resource.UpdateResponse) {}
func (testResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}

func kept(address string) Map { return NewMap(map[string]string{"kept": address}) }

type testModel struct {
	Hosts  Map       `tfsdk:"hosts"`
	Spare  Map       `tfsdk:"spare"`
	Labels types.Map `tfsdk:"labels"`
}

func upgraded(hosts Map) testModel {
	return testModel{Hosts: hosts, Labels: types.MapNull(types.StringType)}
}

// UpgradeState: version 0 had more hosts, version 1 a list of addresses, version 2 an object that contained the map.
func (testResource) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	return map[int64]resource.StateUpgrader{
		0: {
			PriorSchema: &resourceschema.Schema{Attributes: map[string]resourceschema.Attribute{
				"hosts": resourceschema.StringAttribute{CustomType: Type{}, Required: true},
			}},
			StateUpgrader: func(ctx context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
				var hosts Map
				resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("hosts"), &hosts)...)
				resp.Diagnostics.Append(resp.State.Set(ctx, upgraded(kept(maps.Collect(hosts.Known())["kept"])))...)
			},
		},
		1: {
			PriorSchema: &resourceschema.Schema{Attributes: map[string]resourceschema.Attribute{
				"hosts": resourceschema.ListAttribute{ElementType: types.StringType, Required: true},
			}},
			StateUpgrader: func(ctx context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
				var addresses []string
				resp.Diagnostics.Append(req.State.GetAttribute(ctx, path.Root("hosts"), &addresses)...)
				resp.Diagnostics.Append(resp.State.Set(ctx, upgraded(kept(strings.Join(addresses, ""))))...)
			},
		},
		2: {StateUpgrader: func(ctx context.Context, req resource.UpgradeStateRequest, resp *resource.UpgradeStateResponse) {
			var state struct {
				Hosts struct{ ByKey map[string]string }
			}
			if err := json.Unmarshal(req.RawState.JSON, &state); err != nil {
				resp.Diagnostics.AddError("unreadable", err.Error())
			}
			resp.Diagnostics.Append(resp.State.Set(ctx, upgraded(NewMap(state.Hosts.ByKey)))...)
		}},
	}
}

// testDataSource finds hosts, as an ordinary map.
type testDataSource struct{}

func (testDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_hosts"
}

func (testDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = datasourceschema.Schema{Attributes: map[string]datasourceschema.Attribute{
		"hosts": datasourceschema.MapAttribute{ElementType: types.StringType, Computed: true},
		"among": datasourceschema.StringAttribute{CustomType: Type{}, Required: true},
	}}
}

// Read finds the host called found.
func (testDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var among Map
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("among"), &among)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("among"), among)...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("hosts"), map[string]string{"found": maps.Collect(among.Known())["found"]})...)
}

var resourceType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"hosts": mapType, "spare": mapType, "labels": mapType}}

func mapOf(elements map[string]string) tftypes.Value {
	values := make(map[string]tftypes.Value, len(elements))
	for key, element := range elements {
		values[key] = text(element)
	}
	return hosts(values)
}

func stateOf(elements, spare, labels tftypes.Value) tftypes.Value {
	return tftypes.NewValue(resourceType, map[string]tftypes.Value{"hosts": elements, "spare": spare, "labels": labels})
}

func checkValue(t *testing.T, got *tfprotov6.DynamicValue, want tftypes.Value, diagnostics []*tfprotov6.Diagnostic, err error) {
	t.Helper()
	if err != nil || len(diagnostics) > 0 {
		t.Fatal(err, cmp.Diff(nil, diagnostics))
	}
	value, err := got.Unmarshal(want.Type())
	fine(t, err)
	if !value.Equal(want) {
		t.Errorf("got %s, want %s", value, want)
	}
}

// A folded attribute is a map to Terraform, whatever its name, and other attributes keep their type.
func TestServer_schema(t *testing.T) {
	t.Parallel()
	resp, err := NewServer(testProvider{}).GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	fine(t, err)
	for name, c := range map[string]struct {
		schema *tfprotov6.Schema
		want   map[string]tftypes.Type
	}{
		"resource":    {resp.ResourceSchemas["x_process"], resourceType.AttributeTypes},
		"data-source": {resp.DataSourceSchemas["x_hosts"], map[string]tftypes.Type{"among": mapType, "hosts": mapType}},
	} {
		if got := c.schema.ValueType(); !got.Equal(tftypes.Object{AttributeTypes: c.want}) {
			t.Errorf("%s: Terraform sees %s", name, got)
		}
	}
}

// A folded map inside another attribute would reach Terraform as a string.
func TestServer_refusesNested(t *testing.T) {
	t.Parallel()
	for name, nested := range map[string]resourceschema.Attribute{
		"object": resourceschema.SingleNestedAttribute{Optional: true, Attributes: map[string]resourceschema.Attribute{
			"hosts": resourceschema.StringAttribute{CustomType: Type{}, Optional: true},
		}},
		"list": resourceschema.ListNestedAttribute{Optional: true, NestedObject: resourceschema.NestedAttributeObject{
			Attributes: map[string]resourceschema.Attribute{"hosts": resourceschema.StringAttribute{CustomType: Type{}, Optional: true}},
		}},
		"elements": resourceschema.MapAttribute{Optional: true, ElementType: Type{}},
	} {
		server := NewServer(testProvider{testResource{more: map[string]resourceschema.Attribute{"group": nested}}})
		if _, err := server.GetProviderSchema(t.Context(), &tfprotov6.GetProviderSchemaRequest{}); err == nil || !strings.Contains(err.Error(), `x_process has a folded map inside "group"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServer_read(t *testing.T) {
	t.Parallel()
	labels, spare := mapOf(map[string]string{"env": "prod"}), mapOf(map[string]string{"s": "3"})
	resp, err := NewServer(testProvider{}).ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: "x_process", CurrentState: dynamic(t, resourceType, stateOf(mapOf(map[string]string{"kept": "1", "lost": "2"}), spare, labels)),
	})
	fine(t, err)
	checkValue(t, resp.NewState, stateOf(mapOf(map[string]string{"kept": "1"}), spare, labels), resp.Diagnostics, err)
}

// An ordinary attribute with the name of a folded one does not change.
func TestServer_readDataSource(t *testing.T) {
	t.Parallel()
	typ := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"among": mapType, "hosts": mapType}}
	among := mapOf(map[string]string{"found": "1", "other": "2"})
	resp, err := NewServer(testProvider{}).ReadDataSource(t.Context(), &tfprotov6.ReadDataSourceRequest{
		TypeName: "x_hosts", Config: dynamic(t, typ, tftypes.NewValue(typ, map[string]tftypes.Value{"among": among, "hosts": hosts(nil)})),
	})
	fine(t, err)
	want := tftypes.NewValue(typ, map[string]tftypes.Value{"among": among, "hosts": mapOf(map[string]string{"found": "1"})})
	checkValue(t, resp.State, want, resp.Diagnostics, err)
}

// A current state is returned unchanged, and of an older one the upgrader's result.
func TestServer_upgrade(t *testing.T) {
	t.Parallel()
	null := hosts(nil)
	one := stateOf(mapOf(map[string]string{"kept": "1"}), null, null)
	for name, c := range map[string]struct {
		version int64
		state   string
		want    tftypes.Value
		err     string
	}{
		"full": {version: 3, state: `{"labels":{"env":"prod"},"spare":{"s":"<3>"},"hosts":{"a":"0:10.0.0.1","b":null,"é":"x\"\n"}}`, want: stateOf(
			hosts(map[string]tftypes.Value{"a": text("0:10.0.0.1"), "b": text(nil), "é": text("x\"\n")}), mapOf(map[string]string{"s": "<3>"}), mapOf(map[string]string{"env": "prod"}))},
		"empty":               {version: 3, state: `{"hosts":{},"spare":null,"labels":null}`, want: stateOf(hosts(map[string]tftypes.Value{}), null, null)},
		"null":                {version: 3, state: `{"hosts":null,"spare":null,"labels":null}`, want: stateOf(null, null, null)},
		"numbers":             {version: 3, state: `{"hosts":{"a":1}}`, err: "hosts"},
		"no-object":           {version: 3, state: `{"hosts":1}`, err: "hosts"},
		"less":                {version: 3, state: `{"hosts":{"kept":"1"}}`, want: one},
		"more":                {version: 3, state: `{"hosts":{"kept":"1"},"spare":null,"labels":null,"of a later release":1}`, want: one},
		"upgraded-map":        {version: 0, state: `{"hosts":{"kept":"1","lost":"2"}}`, want: one},
		"upgraded-list":       {version: 1, state: `{"hosts":["1"]}`, want: one},
		"upgraded-raw-object": {version: 2, state: `{"hosts":{"bykey":{"kept":"1"}}}`, want: one},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := NewServer(testProvider{}).UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
				TypeName: "x_process", Version: c.version, RawState: &tfprotov6.RawState{JSON: []byte(c.state)},
			})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v", err)
				}
				return
			}
			fine(t, err)
			checkValue(t, resp.UpgradedState, c.want, resp.Diagnostics, err)
		})
	}
}
