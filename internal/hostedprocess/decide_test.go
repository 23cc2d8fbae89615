package hostedprocess

import (
	"testing"

	"github.com/blueking/terraform-provider-bk/internal/diagnose"
	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

func TestStepOn(t *testing.T) {
	t.Parallel()
	changes, raises := wanted{changes: true}, wanted{raises: true}
	for name, c := range map[string]struct {
		want     wanted
		standing standing
		step     step
	}{
		"in sync":                              {wanted{}, standing{}, keepAsIs},
		"in sync, overtaken":                   {wanted{}, standing{overtaken: true}, keepAsIs},
		"not hosted":                           {wanted{}, standing{code: diagnose.NotHosted}, settle},
		"not operated":                         {wanted{}, standing{code: diagnose.NotOperated}, settle},
		"not hosted, overtaken":                {wanted{}, standing{code: diagnose.NotHosted, overtaken: true}, reregister},
		"other spec":                           {wanted{}, standing{code: diagnose.OtherSpec}, reregister},
		"other labels":                         {wanted{}, standing{code: diagnose.OtherLabels}, reregister},
		"unregistered":                         {wanted{}, standing{code: diagnose.Unregistered}, register},
		"not registered":                       {wanted{}, standing{code: diagnose.NotRegistered}, register},
		"unconfirmed":                          {wanted{}, standing{code: diagnose.Unconfirmed}, register},
		"another's":                            {wanted{}, standing{code: diagnose.RegisteredByOther}, register},
		"ensure asks for more":                 {raises, standing{}, settle},
		"ensure asks for more, overtaken":      {raises, standing{overtaken: true}, reregister},
		"the declaration changes":              {changes, standing{}, reregister},
		"the declaration changes, unconfirmed": {changes, standing{code: diagnose.Unconfirmed}, register},
		"nothing is kept, as declared":         {wanted{}, standing{looked: true}, settle},
		"nothing is kept, no row":              {wanted{}, standing{looked: true, absent: true, other: true}, register},
		"nothing is kept, another spec":        {wanted{}, standing{looked: true, other: true}, reregister},
	} {
		if got := c.want.stepOn(c.standing); got != c.step {
			t.Errorf("%s: %d, want %d", name, got, c.step)
		}
	}
}

func TestRefreshed(t *testing.T) {
	t.Parallel()
	var (
		none   diagnose.HostStatus
		status = func(code diagnose.Code) diagnose.HostStatus {
			return diagnose.HostStatus{Code: code, Text: "as before"}
		}
		found = func(code diagnose.Code) diagnose.HostStatus { return diagnose.HostStatus{Code: code} }
		row   = fleet.Status{State: fleet.Stopped, Labels: map[string]string{"tf_spec": "v1-0"}}
	)
	for name, c := range map[string]struct {
		of   refreshed
		want diagnose.Code // with the text of before, where it is the code of before
	}{
		"drift":                                  {refreshed{was: none, found: found(diagnose.NotHosted)}, diagnose.NotHosted},
		"repaired by hand":                       {refreshed{was: status(diagnose.NotRunning)}, ""},
		"away":                                   {refreshed{was: status(diagnose.NotRunning), away: true}, diagnose.NotRunning},
		"still refused":                          {refreshed{was: status(diagnose.NotRegistered), found: found(diagnose.Unregistered), labelled: true}, diagnose.NotRegistered},
		"unconfirmed, and another's by now":      {refreshed{was: status(diagnose.Unconfirmed), found: found(diagnose.OtherSpec), file: row, labelled: true}, diagnose.RegisteredByOther},
		"unconfirmed, with an earlier spec":      {refreshed{was: status(diagnose.Unconfirmed), found: found(diagnose.OtherSpec), file: row, ours: true, labelled: true}, diagnose.OtherSpec},
		"unconfirmed, and an old picture":        {refreshed{was: status(diagnose.Unconfirmed), found: found(diagnose.OtherSpec), file: fleet.Status{State: fleet.Stopped}, labelled: true}, diagnose.Unconfirmed},
		"unconfirmed, and made":                  {refreshed{was: status(diagnose.Unconfirmed), file: row, made: true, ours: true, labelled: true}, ""},
		"unconfirmed, and nothing shows it":      {refreshed{was: status(diagnose.Unconfirmed), labelled: true}, diagnose.Unconfirmed},
		"another's":                              {refreshed{was: status(diagnose.RegisteredByOther)}, diagnose.RegisteredByOther},
		"another's, and gone":                    {refreshed{was: status(diagnose.RegisteredByOther), found: found(diagnose.Unregistered)}, diagnose.NotRegistered},
		"another's, and registered by us since":  {refreshed{was: status(diagnose.RegisteredByOther), file: row, made: true}, ""},
		"unhealthy, and runs":                    {refreshed{was: status(diagnose.Unhealthy)}, diagnose.Unhealthy},
		"unhealthy, and down":                    {refreshed{was: status(diagnose.Unhealthy), found: found(diagnose.NotRunning)}, diagnose.NotRunning},
		"not operated, and not hosted":           {refreshed{was: status(diagnose.NotOperated), found: found(diagnose.NotHosted)}, diagnose.NotOperated},
		"not operated, and of another spec":      {refreshed{was: status(diagnose.NotOperated), found: found(diagnose.OtherSpec)}, diagnose.OtherSpec},
		"other spec, and not hosted":             {refreshed{was: status(diagnose.OtherSpec), found: found(diagnose.NotHosted)}, diagnose.OtherSpec},
		"other spec, made since, and not hosted": {refreshed{was: status(diagnose.OtherSpec), found: found(diagnose.NotHosted), made: true}, diagnose.NotHosted},
	} {
		got := c.of.status()
		if got.Code != c.want || got.Code == c.of.was.Code && got.Text != c.of.was.Text {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
