package gse

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"testing"
	"time"

	"github.com/blueking/terraform-provider-bk/internal/fleet"
)

// These tests fix the form of the fingerprint. A change makes every host of every user look changed, and
// needs another fleet.FingerprintVersion.
func TestSpec_fingerprintGolden(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec      *Spec
		labels    map[string]string
		canonical string
		want      string
	}{
		"full": {
			sampleSpec(), sampleMeta.Labels,
			`{"labels":{"proc_name":"proc-test"},"spec":{"configmap":[{"md5":"","path":""}],` +
				`"control":{"health_cmd":"./health.sh","kill_cmd":"./kill.sh","reload_cmd":"./reload.sh","restart_cmd":"./restart.sh",` +
				`"start_cmd":"./start.sh","stop_cmd":"./stop.sh","version_cmd":"./version.sh"},` +
				`"identity":{"config_path":"/data/gsetest/proc-test.conf","index_key":"","log_path":"/data/gsetest/logs/",` +
				`"pid_path":"/data/gsetest/proc-test.pid","proc_name":"proc-test","setup_path":"/data/gsetest/","user":"root"},` +
				`"monitor_policy":{"auto_type":1,"crontab_rule":"","start_check_secs":5,"start_interval":20,"start_retries":3,"stop_check_secs":5},` +
				`"resource":{"cpu":10,"disk":100,"fd":10000,"mem":10,"net":0},"warn_report_policy":{"report_id":0}}}`,
			"v1-fc999435bf64c718",
		},
		"minimal": {
			minimalSpec(), nil,
			`{"labels":{},"spec":{"control":{},"identity":{"pid_path":"/run/nginx.pid","proc_name":"nginx","setup_path":"/usr/sbin","user":"root"},` +
				`"monitor_policy":{"auto_type":0},"resource":{"cpu":30,"mem":12.5}}}`,
			"v1-1f30f7ac62bd7de1",
		},
		"unlimited": {
			unlimitedSpec(), nil,
			`{"labels":{},"spec":{"control":{},"identity":{"pid_path":"/run/nginx.pid","proc_name":"nginx","setup_path":"/usr/sbin","user":"root"},` +
				`"monitor_policy":{"auto_type":0}}}`,
			"v1-8707758e070ead43",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := fleet.Fingerprint(test.spec, test.labels)
			if err != nil {
				t.Fatal(err)
			}
			sum := sha256.Sum256([]byte(test.canonical))
			documented := fleet.FingerprintVersion + hex.EncodeToString(sum[:])[:16]
			if got != test.want || got != documented {
				t.Errorf("got %s, want %s, and the canonical form has %s", got, test.want, documented)
			}
		})
	}
}

// Every field that is registered counts. The test walks the struct, so it finds fields added later.
// OpTimeout is not registered and does not count.
func TestSpec_fingerprintOfEachField(t *testing.T) {
	t.Parallel()
	seen := map[string]string{fingerprint(t, sampleSpec()): "the spec itself"}
	fields := 0
	for _, path := range leaves(reflect.TypeFor[Spec](), nil) {
		name := nameOf(path)
		changed := sampleSpec()
		change(reflect.ValueOf(changed).Elem(), path)
		sum := fingerprint(t, changed)
		if name == "OpTimeout" {
			if seen[sum] != "the spec itself" {
				t.Errorf("%s changes the fingerprint, though it is not registered", name)
			}
			continue
		}
		if other, taken := seen[sum]; taken {
			t.Errorf("another %s has the fingerprint of %s", name, other)
		}
		seen[sum] = name
		fields++
	}
	if fields != 28 {
		t.Errorf("walked over %d fields", fields)
	}
}

// An absent field and an empty one are sent differently.
func TestSpec_fingerprintOfAbsence(t *testing.T) {
	t.Parallel()
	absent, empty := sampleSpec(), sampleSpec()
	absent.Control.StartCmd, empty.Control.StartCmd = nil, new("")
	if fingerprint(t, absent) == fingerprint(t, empty) {
		t.Error("no start_cmd and an empty one have the same fingerprint")
	}
	none, emptyPolicy := sampleSpec(), sampleSpec()
	none.WarnReportPolicy, emptyPolicy.WarnReportPolicy = nil, &WarnReportPolicy{}
	if fingerprint(t, none) == fingerprint(t, emptyPolicy) {
		t.Error("no warn_report_policy and an empty one have the same fingerprint")
	}
}

func fingerprint(tb testing.TB, spec *Spec) string {
	tb.Helper()
	sum, err := fleet.Fingerprint(spec, sampleMeta.Labels)
	if err != nil {
		tb.Fatal(err)
	}
	return sum
}

// leaves are the paths to the fields of a type that hold no further fields.
func leaves(typ reflect.Type, at []reflect.StructField) [][]reflect.StructField {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct {
		return [][]reflect.StructField{at}
	}
	var paths [][]reflect.StructField
	for i := range typ.NumField() {
		paths = append(paths, leaves(typ.Field(i).Type, append(at[:len(at):len(at)], typ.Field(i)))...)
	}
	return paths
}

func nameOf(path []reflect.StructField) string {
	name := ""
	for _, field := range path {
		name += "." + field.Name
	}
	return name[1:]
}

// change gives the field at the end of path another value.
func change(v reflect.Value, path []reflect.StructField) {
	for _, field := range path {
		v = v.FieldByIndex(field.Index)
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
			if v.Kind() == reflect.Slice {
				v = v.Index(0)
				continue
			}
			v = v.Elem()
		}
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 0.5)
	default:
		panic("a field of a new kind: " + v.Kind().String())
	}
}

// Unset values take the documented times.
func TestSpec_Settles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec           *Spec
		command, check time.Duration
	}{
		"no-spec": {nil, 60 * time.Second, 5 * time.Second},
		"not-set": {&Spec{}, 60 * time.Second, 5 * time.Second},
		"set":     {&Spec{OpTimeout: new(int64(7)), MonitorPolicy: MonitorPolicy{StartCheckSecs: new(int64(30))}}, 7 * time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if command, check := c.spec.Settles(); command != c.command || check != c.check {
				t.Errorf("got %s and %s, want %s and %s", command, check, c.command, c.check)
			}
		})
	}
}
