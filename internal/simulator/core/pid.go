package core

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// livePID returns the pid in a pid file if that process is alive, 0 otherwise.
func livePID(path string) int {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	word, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(word))
	// 1 and our own pid are never a hosted process, but a broken script may write them. Pids found here
	// may be killed.
	if err != nil || pid <= 1 || pid == os.Getpid() || !pidExists(pid) || isZombie(pid) || isReused(pid, path) {
		return 0
	}
	return pid
}

// reuseSlack allows for the coarse clocks that the two times below come from.
const reuseSlack = 2 * time.Second

// isReused reports whether the process with a pid started after its pid file was written. After a
// reboot, the number in an old file belongs to another process, which must not be killed.
func isReused(pid int, path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	age, ok := processAge(pid)
	return ok && time.Now().Add(-age).After(info.ModTime().Add(reuseSlack))
}

// isZombie reports whether a process has ended but is still listed, because its parent does not
// collect it. For an agent it is dead.
func isZombie(pid int) bool {
	fields, ok := procStat(pid)
	return ok && (fields[statState] == "Z" || fields[statState] == "X")
}

// processAge returns how long ago a process started, if /proc has it.
func processAge(pid int) (time.Duration, bool) {
	fields, ok := procStat(pid)
	up := uptime()
	if !ok || up == 0 {
		return 0, false
	}
	return up - ticks(fields[statStartTime]), true
}

// Fields of /proc/<pid>/stat after the name, see proc(5).
const (
	statState     = 0
	statUTime     = 11
	statSTime     = 12
	statStartTime = 19
	statRSS       = 21
)

// procStat returns the fields of /proc/<pid>/stat after the name, which is in brackets and may contain
// any character.
func procStat(pid int) ([]string, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, false
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	return fields, len(fields) > statRSS
}

// ticks reads a time in units of 1/100 s, the clock tick of every Linux in use.
func ticks(field string) time.Duration { return time.Duration(parseInt(field)) * clockTick }

const clockTick = 10 * time.Millisecond

func uptime() time.Duration {
	data, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(data), " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

func parseInt(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
