package provider

import "regexp"

func statesOf(values map[string]any) map[string]string {
	if values == nil {
		return nil
	}
	states := make(map[string]string)
	hosts, _ := values["statuses"].(map[string]any)
	for key, host := range hosts {
		status, _ := host.(map[string]any)
		states[key], _ = status["state"].(string)
	}
	return states
}

// texts is a map of strings out of a state, nil where there is none.
func texts(v any) map[string]string {
	values, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	byKey := make(map[string]string, len(values))
	for key, value := range values {
		byKey[key], _ = value.(string)
	}
	return byKey
}

func hostsIn(state any) map[string]string {
	values, _ := state.(map[string]any)
	return texts(values["hosts"])
}

// told are the hosts of a diagnostic with the reasons given.
func told(said string) map[string]string {
	rows := make(map[string]string)
	for _, match := range regexp.MustCompile(`(?m)^  (web-\d+) \(\S+\): (.*)$`).FindAllStringSubmatch(said, -1) {
		rows[match[1]] = match[2]
	}
	return rows
}

// wholeSpec is a spec with every command and its limits.
func wholeSpec(start string) map[string]any {
	spec := testSpec(start)
	spec["control"] = map[string]any{
		"start_cmd": start, "stop_cmd": "./stop.sh", "restart_cmd": "./restart.sh", "reload_cmd": "./reload.sh", "kill_cmd": "./kill.sh",
	}
	spec["resource"] = map[string]any{"cpu": 30, "mem": 10}
	return spec
}
