package hostfunction

import (
	"context"
	"fmt"
	"math/big"
	"strconv"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

var _ function.Function = wavesFunction{}

// maxCounted is the largest fleet for which waves are computed: a list of a million waves
// has no use.
const maxCounted = 100000

// NewWaves returns waves, which computes the number of hosts in each wave.
func NewWaves() function.Function { return wavesFunction{} }

type wavesFunction struct{}

func (wavesFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "waves"
}

func (wavesFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "How many hosts each wave has",
		MarkdownDescription: "Returns the number of hosts in each wave of a rollout with these `waves` over so many hosts: " +
			"`waves([\"1\", \"10%\", \"*2\"], 1000)` is `[1, 100, 200, 400, 299]`. The function makes no calls.",
		Parameters: []function.Parameter{
			function.ListParameter{
				Name: "waves", ElementType: types.StringType,
				MarkdownDescription: "Sizes of the waves, as `rollout.waves` takes them. Each is " + fleet.WaveForms + "; the last repeats.",
			},
			function.NumberParameter{Name: "count", MarkdownDescription: "Number of hosts, up to " + strconv.Itoa(maxCounted) + "."},
		},
		Return: function.ListReturn{ElementType: types.Int64Type},
	}
}

func (wavesFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var (
		elements []types.String
		number   *big.Float
	)
	if resp.Error = req.Arguments.Get(ctx, &elements, &number); resp.Error != nil {
		return
	}
	texts := make([]string, len(elements))
	for i, element := range elements {
		if element.IsNull() {
			resp.Error = function.NewArgumentFuncError(0, fmt.Sprintf("Element %d is null", i))
			return
		}
		texts[i] = element.ValueString()
	}
	count, failed := wholeNumber(1, "count", number)
	if resp.Error = failed; failed != nil {
		return
	}
	waves, err := fleet.ParseWaves(texts)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, diagnose.WithoutStop(diagnose.Sentence(err.Error())))
		return
	}
	if count < 0 || count > maxCounted {
		resp.Error = function.NewArgumentFuncError(1, "count must be from 0 to "+strconv.Itoa(maxCounted)+"; got "+strconv.FormatInt(count, 10))
		return
	}
	sizes := waves.Sizes(int(count), int(count))
	if sizes == nil {
		sizes = []int{} // not null
	}
	resp.Error = resp.Result.Set(ctx, sizes)
}
