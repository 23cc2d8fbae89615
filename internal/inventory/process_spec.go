package inventory

import (
	"cmp"
	"fmt"

	"golang.org/x/text/unicode/norm"

	"github.com/blueking/terraform-provider-bk/internal/cmdb"
)

// processSpec is the spec that GSEKit and BSCP send to GSE for a process of CMDB. It is comparable, since hosts
// with equal specs can be in one resource.
type processSpec struct {
	procName, setupPath, pidPath, user                string
	startCmd, stopCmd, restartCmd, reloadCmd, killCmd string
	startCheckSecs, opTimeout                         int64
}

// What GSEKit and BSCP send for values that CMDB lacks.
const (
	residentProcess       = 1 // auto_type
	defaultStartCheckSecs = 5
	defaultOpTimeout      = 60
)

// namespaceOf returns the namespace in which GSEKit hosts the processes of a business.
func namespaceOf(biz int64) string { return fmt.Sprintf("GSEKIT_BIZ_%d", biz) }

// instanceName returns the name of a process's local instance, counted from 1, as Terraform normalizes it.
func instanceName(p cmdb.Process, local int64) string {
	return norm.NFC.String(fmt.Sprintf("%s_%d", p.Name, local))
}

// maxInstances is the largest proc_num that is accepted. CMDB accepts a million, and each instance is a resource.
const maxInstances = 1000

// instancesOf returns how many instances of a process a host has.
func instancesOf(p cmdb.Process) int64 { return min(max(1, p.ProcNum), maxInstances) }

// specOf renders a process with the values of names.
func specOf(p cmdb.Process, names map[string]string) (processSpec, error) {
	spec := processSpec{
		procName: p.FuncName, user: p.User,
		startCheckSecs: cmp.Or(p.StartCheckSecs, defaultStartCheckSecs), opTimeout: cmp.Or(p.Timeout, defaultOpTimeout),
	}
	for _, field := range []struct {
		name, template string
		rendered       *string
	}{
		{"work_path", p.WorkPath, &spec.setupPath},
		{"pid_file", p.PIDFile, &spec.pidPath},
		{"start_cmd", p.StartCmd, &spec.startCmd},
		{"stop_cmd", p.StopCmd, &spec.stopCmd},
		{"restart_cmd", p.RestartCmd, &spec.restartCmd},
		{"reload_cmd", p.ReloadCmd, &spec.reloadCmd},
		{"face_stop_cmd", p.FaceStop, &spec.killCmd},
	} {
		text, err := render(field.template, names)
		if err != nil {
			return processSpec{}, fmt.Errorf("%s: %w", field.name, err)
		}
		*field.rendered = text
	}
	for _, field := range []struct{ name, value string }{
		{"bk_process_name", p.Name}, {"bk_func_name", spec.procName}, {"work_path", spec.setupPath}, {"pid_file", spec.pidPath}, {"user", spec.user},
	} {
		if field.value == "" {
			return processSpec{}, fmt.Errorf("%s is empty, which a hosted process cannot do without", field.name)
		}
	}
	if p.ProcNum > maxInstances {
		return processSpec{}, fmt.Errorf("proc_num is %d, and a host can have at most %d instances", p.ProcNum, maxInstances)
	}
	return spec, nil
}
